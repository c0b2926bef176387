import type { HttpRequest } from '../../core/contract/http.js';
import type { MemberAttempt } from '../../core/contract/member-attempt.js';
import { isKept } from './keep-rules.js';
import { requestFacts } from './request-facts.js';
import type { ExtraAttribute } from './span-records.js';
import { inject, type RemoteContext, type SpanContextText } from './trace-context.js';
import { newSpanId, newTraceId } from './trace-ids.js';
import type { TraceSettings } from './trace-settings.js';
import { TraceSink, type TakeSpan } from './trace-sink.js';

/** An attempt that has begun. */
interface OpenAttempt {
  readonly attempt: MemberAttempt;
  readonly spanId: string;
  readonly start: number;
}

const now = (): number => performance.timeOrigin + performance.now();

/** Where the span of a request comes from: the context of its client, or the request that has made it. Undefined: it begins a trace. */
type Parent = RemoteContext | RequestTrace | undefined;

/** The spans of a request or subrequest that is recorded, or may be at its end: its own, those of its attempts, and of its look into a cache. */
export class RequestTrace implements SpanContextText {
  traceId: string;
  readonly spanId = newSpanId();
  readonly #sink: TraceSink;
  /** When its handlers began, when its content began, and when a member or a stored response was found. 0: not yet. */
  readonly #beganAt = now();
  #contentAt = 0;
  #foundAt = 0;
  #attemptCount = 0;
  readonly #attempts: OpenAttempt[] = [];

  constructor(
    public settings: TraceSettings,
    private parent: Parent,
    /** Value of tracestate; empty: there is none. */
    public state: string,
    /** Members are asked to record as well. */
    public isSampled: boolean,
    take: TakeSpan,
  ) {
    this.traceId = parent?.traceId ?? newTraceId();
    this.#sink = parent instanceof RequestTrace ? parent.#sink : new TraceSink(isSampled, take);
  }

  /** Empty: it is the root. */
  get parentId(): string {
    return this.parent?.spanId ?? '';
  }

  contentBegins(): void {
    if (this.#contentAt === 0) this.#contentAt = now();
  }

  /** A response comes: of a member, out of the cache, or another one. */
  found(): void {
    if (this.#foundAt === 0) this.#foundAt = now();
  }

  /** A location decides in the place of the server, as long as nothing has followed from that decision. */
  decideAgain(parent: RemoteContext | undefined, state: string, isSampled: boolean): void {
    if (this.#contentAt !== 0) return;
    if (parent !== undefined) this.traceId = parent.traceId;
    else if (this.parent !== undefined) this.traceId = newTraceId();
    this.parent = parent;
    this.state = state;
    this.isSampled = isSampled;
    if (isSampled || this.settings.keep.length > 0) this.#sink.reset(isSampled);
    else this.drop();
  }

  /** The request came to a location without telemetry. */
  drop(): void {
    this.#sink.decide(false);
  }

  attemptBegins(request: HttpRequest, attempt: MemberAttempt): void {
    if (this.#sink.isDropped) return;
    this.found();
    this.#attemptCount++;
    const open = { attempt, spanId: newSpanId(), start: now() };
    this.#attempts.push(open);
    const { settings, traceId, isSampled, state } = this;
    if (settings.injects) inject(settings.forms, { traceId, spanId: open.spanId, isSampled, state }, request.upstream);
  }

  attemptEnds(request: HttpRequest, attempt: MemberAttempt): void {
    const at = this.#attempts.findIndex((open) => open.attempt === attempt);
    const [open] = at < 0 ? [] : this.#attempts.splice(at, 1);
    if (open === undefined || this.#sink.isDropped) return;
    const { url, address, upstream, number, isReused, status, failure, queueTime, connectTime, headerTime } = attempt;
    const { traceId, spanId: parentId, state } = this;
    this.#sink.add({
      kind: 'attempt',
      traceId,
      spanId: open.spanId,
      parentId,
      hasRemoteParent: false,
      state,
      start: open.start,
      end: now(),
      method: request.method,
      url,
      address,
      upstream,
      number,
      isReused,
      status,
      failure,
      queueTime,
      connectTime,
      headerTime,
    });
  }

  /** The request is over. The end of the one of a client decides about all that are part of it. */
  ends(request: HttpRequest): void {
    const end = now();
    const isOwn = this.parent instanceof RequestTrace;
    // The clock of the engine moves with its turns.
    const start = isOwn ? this.#beganAt : Math.min(request.startTime, this.#beganAt);
    if (this.#sink.isPending && !isOwn) {
      const outcome = { status: request.status, time: end - start, attempts: this.#attemptCount };
      this.#sink.decide(isKept(this.settings.keep, outcome));
    }
    if (this.#sink.isDropped) return;
    const cacheStatus = request.variable('upstream_cache_status') ?? '';
    if (cacheStatus !== '') this.#addCache(cacheStatus, end);
    this.#addRequest(request, start, end, cacheStatus);
  }

  #addCache(cacheStatus: string, end: number): void {
    const { traceId, spanId: parentId, state } = this;
    const start = this.#contentAt === 0 ? this.#beganAt : this.#contentAt;
    this.#sink.add({
      kind: 'cache',
      traceId,
      spanId: newSpanId(),
      parentId,
      hasRemoteParent: false,
      state,
      start,
      end: this.#foundAt === 0 ? end : this.#foundAt,
      cacheStatus,
    });
  }

  #addRequest(request: HttpRequest, start: number, end: number, cacheStatus: string): void {
    const { traceId, spanId, parentId, state, parent, settings } = this;
    const isOwn = parent instanceof RequestTrace;
    this.#sink.add({
      kind: isOwn ? 'subrequest' : 'request',
      traceId,
      spanId,
      parentId,
      hasRemoteParent: parent !== undefined && !isOwn,
      state,
      start,
      end,
      name: isOwn ? '' : (settings.name?.of(request) ?? ''),
      ...requestFacts(request, isOwn, settings.route),
      cacheStatus,
      extra: extraOf(settings, request),
    });
  }
}

const NONE: readonly ExtraAttribute[] = [];

export function extraOf({ attributes }: Pick<TraceSettings, 'attributes'>, request: HttpRequest): readonly ExtraAttribute[] {
  if (attributes.length === 0) return NONE;
  return attributes.map(({ name, value }): ExtraAttribute => [name, value.of(request)]).filter(([, value]) => value !== '');
}
