import type { FigureRow } from '../../core/contract/figures.js';
import type { HttpRequest } from '../../core/contract/http.js';
import type { MemberAttempt } from '../../core/contract/member-attempt.js';
import { AttemptFigure, Http, statusCell, Time } from './layout.js';

/** Status of a request whose client has left. */
const LEFT = 499;
const GATEWAY_TIMEOUT = 504;

const enum Limit {
  ReqDelayed,
  ReqRejected,
  ReqDryRun,
  ConnRejected,
  ConnDryRun,
}

/** Which variables of other modules may have a value: what is not configured is not asked for. */
export interface Sources {
  readonly cache: boolean;
  readonly limitReq: boolean;
  readonly limitConn: boolean;
  readonly traces: boolean;
}

/** A request that has ended, taken apart once for all of its rows. One object for all requests of a thread. */
export class EndedRequest {
  #status = 0;
  #received = 0;
  #sent = 0;
  #time = 0;
  #method = 0;
  #protocol = 0;
  #cache = -1;
  #limitReq = -1;
  #limitConn = -1;
  #isSecure = false;

  /** Milliseconds. */
  get time(): number {
    return this.#time;
  }

  read(request: HttpRequest, sources: Sources): void {
    const { protocol } = request;
    this.#status = request.status;
    this.#received = request.bytesReceived;
    this.#sent = request.bytesSent;
    this.#time = request.elapsed;
    this.#method = methodCell(request.method);
    this.#protocol = protocol === 'HTTP/1.1' ? 1 : protocol === 'HTTP/2.0' ? 2 : protocol === 'HTTP/1.0' ? 0 : 3;
    this.#isSecure = request.connection.secure;
    this.#cache = sources.cache ? cacheCell(request.variable('upstream_cache_status')) : -1;
    this.#limitReq = sources.limitReq ? limitCell(request.variable('limit_req_status')) : -1;
    this.#limitConn = sources.limitConn ? limitCell(request.variable('limit_conn_status')) : -1;
  }

  countIn(row: FigureRow): void {
    const status = this.#status;
    row.add(Http.Requests, 1);
    row.add(Http.Received, this.#received);
    row.add(Http.Sent, this.#sent);
    row.add(Http.Methods + this.#method, 1);
    row.add(Http.Protocols + this.#protocol, 1);
    row.add(Http.Statuses + statusCell(status), 1);
    if (this.#sent === 0) row.add(Http.Discarded, 1);
    if (status >= 400) this.#countError(row, status);
    if (status === 101) row.add(Http.Upgrades, 1);
    if (this.#isSecure) row.add(Http.Tls, 1);
    if (this.#cache >= 0) row.add(Http.Cache + this.#cache, 1);
    if (this.#limitReq >= 0) row.add(Http.Limits + this.#limitReq, 1);
    if (this.#limitConn >= 0) row.add(Http.Limits + Limit.ConnRejected - Limit.ReqRejected + this.#limitConn, 1);
    row.observe(0, this.#time);
  }

  #countError(row: FigureRow, status: number): void {
    if (status === LEFT) row.add(Http.Aborted, 1);
    else if (status >= 500) row.add(Http.Errors, 1);
  }
}

/** Counts an attempt that has ended. */
export function countAttempt(attempt: MemberAttempt, row: FigureRow): void {
  const { status, connectTime, headerTime, responseTime } = attempt;
  row.add(AttemptFigure.Attempts, 1);
  row.add(AttemptFigure.Received, attempt.received);
  row.add(AttemptFigure.Sent, attempt.sent);
  if (attempt.number > 1) row.add(AttemptFigure.Retries, 1);
  if (attempt.isReused) row.add(AttemptFigure.Reused, 1);
  if (attempt.failure !== '') row.add(AttemptFigure.Errors, 1);
  if (status === 0) row.add(AttemptFigure.Left, 1);
  else row.add(AttemptFigure.Statuses + statusCell(status), 1);
  if (status === GATEWAY_TIMEOUT && attempt.failure !== '') row.add(AttemptFigure.TimedOut, 1);
  if (connectTime >= 0) {
    row.add(AttemptFigure.Connected, 1);
    row.add(AttemptFigure.ConnectTime, connectTime);
  }
  if (headerTime >= 0) {
    row.add(AttemptFigure.Heads, 1);
    row.add(AttemptFigure.HeadTime, headerTime);
  }
  if (responseTime >= 0) row.observe(Time.Response, responseTime);
}

/** Adds the times that an upstream has and a member has not. */
export function countTimes({ connectTime, headerTime }: MemberAttempt, row: FigureRow): void {
  if (connectTime >= 0) row.observe(Time.Connect, connectTime);
  if (headerTime >= 0) row.observe(Time.Head, headerTime);
}

function methodCell(method: string): number {
  switch (method) {
    case 'GET':
      return 0;
    case 'HEAD':
      return 1;
    case 'POST':
      return 2;
    case 'PUT':
      return 3;
    case 'DELETE':
      return 4;
    case 'OPTIONS':
      return 5;
    case 'PATCH':
      return 6;
    case 'CONNECT':
      return 7;
    case 'TRACE':
      return 8;
    default:
      return 9;
  }
}

function cacheCell(status: string | undefined): number {
  switch (status) {
    case 'MISS':
      return 0;
    case 'BYPASS':
      return 1;
    case 'EXPIRED':
      return 2;
    case 'STALE':
      return 3;
    case 'UPDATING':
      return 4;
    case 'REVALIDATED':
      return 5;
    case 'HIT':
      return 6;
    case 'SCARCE':
      return 7;
    case undefined:
    default:
      return -1;
  }
}

/** Of limits of requests; those of connections follow in the same order, apart from the delay that they do not have. */
function limitCell(status: string | undefined): number {
  switch (status) {
    case 'DELAYED':
      return Limit.ReqDelayed;
    case 'REJECTED':
      return Limit.ReqRejected;
    case 'REJECTED_DRY_RUN':
    case 'DELAYED_DRY_RUN':
      return Limit.ReqDryRun;
    case undefined:
    default:
      return -1;
  }
}
