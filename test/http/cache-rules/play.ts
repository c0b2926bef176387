import type { IncomingMessage, ServerResponse } from 'node:http';
import { get, type HttpResponse } from '../../harness/client.js';
import { httpBackend, type HttpBackend } from '../../harness/backends.js';
import type { Scope } from '../../harness/scope.js';
import type { Row, Step } from './row.js';

const AT_ONCE = 50;

/** Rows are played at the same time, but the first step of all of them before the second of any. */
export class Play {
  /** Failures by row. */
  readonly failures = new Map<Row, string[]>();
  readonly #seen = new Map<Row, IncomingMessage[]>();

  private constructor(
    private readonly rows: readonly Row[],
    readonly member: HttpBackend,
  ) {}

  static async prepare(scope: Scope, rows: readonly Row[]): Promise<Play> {
    const play: { it?: Play } = {};
    play.it = new Play(rows, await httpBackend(scope, (request, response) => play.it?.respond(request, response)));
    return play.it;
  }

  /** @param port of the server in front of the member */
  async run(port: number): Promise<void> {
    const steps = Math.max(...this.rows.map((row) => row.steps.length));
    for (let at = 0; at < steps; at++) {
      const now = this.rows.filter((row) => row.steps[at] !== undefined);
      // When these have their stored responses, the others would have theirs.
      await this.#all(
        now.filter((row) => isAwaited(row.steps[at])),
        at,
        port,
      );
      await this.#all(
        now.filter((row) => !isAwaited(row.steps[at])),
        at,
        port,
      );
    }
  }

  async #all(rows: readonly Row[], at: number, port: number): Promise<void> {
    // Fewer connections at a time than the server has.
    const queue = rows.values();
    const workers = Array.from({ length: AT_ONCE }, async () => {
      for (const row of queue) await this.#step(row, at, port);
    });
    await Promise.all(workers);
  }

  async #step(row: Row, at: number, port: number): Promise<void> {
    const step = row.steps[at] ?? {};
    if (step.after !== undefined) await new Promise((resolve) => setTimeout(resolve, step.after));
    let failures: string[] = [];
    for (const deadline = Date.now() + 10_000; ;) {
      const before = this.#requests(row).length;
      const response = await get(port, this.#path(row, step), {
        method: step.method ?? 'GET',
        headers: { ...headersOf(step.asks ?? []), 'x-step': String(at) },
      }).catch((error: unknown) => String(error));
      failures = typeof response === 'string' ? [response] : [...this.#compare(row, at, response, before)];
      if (failures.length === 0 || !isAwaited(step) || Date.now() > deadline) break;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    if (failures.length > 0)
      this.failures.set(row, [...(this.failures.get(row) ?? []), ...failures.map((text) => `step ${at + 1}: ${text}`)]);
  }

  *#compare(row: Row, at: number, response: HttpResponse, before: number): Generator<string> {
    const step = row.steps[at] ?? {};
    const requests = this.#requests(row).slice(before);
    const [request] = requests;
    const isStored = requests.length === 0;
    if (step.from === 'stored' && !isStored) yield 'the member was asked';
    if (step.from === 'member' && (isStored || response.headers['x-request'] !== String(before + requests.length)))
      yield 'the response is a stored one';
    if (step.from === 'validated' && (request === undefined || !isConditional(request))) yield 'the response was not validated';
    const status = step.gets ?? (step.from === 'member' && typeof step.status === 'number' ? step.status : undefined);
    if (status !== undefined && response.status !== status) yield `status ${response.status}`;
    for (const line of step.has ?? []) yield* compareField(line, response.headers);
    for (const line of step.sent ?? []) yield* compareField(line, request?.headers ?? {});
    if (step.sent !== undefined && request === undefined) yield 'the member was not asked';
    if (step.requests !== undefined && step.requests !== requests.length) yield `the member was asked ${requests.length} times`;
    if (step.sentMethod !== undefined && request?.method !== step.sentMethod) yield `the member got ${request?.method ?? 'nothing'}`;
    if (step.hasBody !== undefined && response.body !== step.hasBody) yield `body ${JSON.stringify(response.body)}`;
  }

  respond(request: IncomingMessage, response: ServerResponse): void {
    const index = Number(/\/row(\d+)\b/.exec(request.url ?? '')?.[1]);
    const row = this.rows[index];
    if (row === undefined) {
      response.writeHead(404).end();
      return;
    }
    const requests = this.#requests(row);
    requests.push(request);
    const all = row.steps.slice(0, Number(request.headers['x-step']) + 1);
    // A request that came before the response was stored changes nothing.
    const upTo = all.at(-1)?.from === 'validated' && !isConditional(request) ? all.slice(0, -1) : all;
    const { status = 200, isChunked = false } = upTo.at(-1) ?? {};
    if (status === 'cut') {
      request.socket.destroy();
      return;
    }
    for (const line of upTo.findLast(({ fields }) => fields !== undefined)?.fields ?? []) {
      const colon = line.indexOf(':');
      response.appendHeader(line.slice(0, colon), dated(line.slice(colon + 1).trim()).replace('{path}', `${row.at ?? '/'}row${index}`));
    }
    response.setHeader('X-Request', String(requests.length));
    if (upTo.at(-1)?.from === 'validated' && isConditional(request)) response.writeHead(304).end();
    else {
      const body = upTo.findLast((step) => step.body !== undefined)?.body ?? 'body';
      if (request.method !== 'HEAD' && status !== 204 && !isChunked) response.setHeader('Content-Length', body.length);
      response.writeHead(status);
      // So that its length is unknown.
      if (isChunked) response.flushHeaders();
      response.end(status === 204 ? undefined : body);
    }
  }

  #path(row: Row, step: Step): string {
    return `${row.at ?? '/'}row${this.rows.indexOf(row)}${step.path ?? ''}`;
  }

  #requests(row: Row): IncomingMessage[] {
    const seen = this.#seen.get(row) ?? [];
    this.#seen.set(row, seen);
    return seen;
  }
}

/** Storing ends a little after the response. */
function isAwaited(step: Step | undefined): boolean {
  return step?.isSettled !== true && (step?.from === 'stored' || step?.from === 'validated');
}

function isConditional(request: IncomingMessage): boolean {
  return request.headers['if-none-match'] !== undefined || request.headers['if-modified-since'] !== undefined;
}

function dated(value: string): string {
  return value.replace(/\{(-?\d+)\}/g, (_, seconds: string) => new Date(Date.now() + Number(seconds) * 1000).toUTCString());
}

/** Lines of one name are fields of their own. */
function headersOf(lines: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    (headers[line.slice(0, colon)] ??= []).push(dated(line.slice(colon + 1).trim()));
  }
  return headers;
}

function* compareField(line: string, headers: IncomingMessage['headers']): Generator<string> {
  const isAbsent = line.startsWith('!');
  const [name = '', ...rest] = line.slice(isAbsent ? 1 : 0).split(':');
  const wanted = rest.join(':').trim();
  const found = headers[name.toLowerCase()];
  const text = Array.isArray(found) ? found.join(', ') : found;
  if (isAbsent && wanted === '') {
    if (text !== undefined) yield `${name} is "${text}"`;
    return;
  }
  const isRight = wanted.startsWith('/') ? new RegExp(wanted.slice(1, -1)).test(text ?? '') : text === wanted;
  if (isRight === isAbsent) yield `${name} is ${text === undefined ? 'missing' : `"${text}"`}`;
}
