import { once } from 'node:events';
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { Started } from './processes.js';

const START_TIMEOUT_MS = 60_000;
/** Of a connection whose request has no response yet. */
const SILENCE_MS = 60_000;
/** Until a request of the start counts as lost; the next one may have a response. */
const ANSWER_TIMEOUT_MS = 5000;

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly host?: string;
  /** Over TLS, with any certificate. */
  readonly secure?: boolean;
  /** HTTP/2, with or without TLS. */
  readonly http2?: boolean;
}

/**
 * Waits until a server that was just started responds to a request with 200. Throws, with what the process printed, when it ends
 * before or takes longer than a minute.
 * @returns milliseconds on the clock of performance.now() when the response came
 */
export async function answers(target: Target, process: Started): Promise<number> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (await answersOnce(target)) return performance.now();
    if (process.child.exitCode !== null || process.child.signalCode !== null) {
      throw new Error(`ended before it responded: ${lastLines(process.output())}`);
    }
    await delay(1);
  }
  throw new Error(`did not respond within ${START_TIMEOUT_MS / 1000} s: ${lastLines(process.output())}`);
}

async function answersOnce(target: Target): Promise<boolean> {
  if (target.http2 === true) return answersHttp2(target);
  const client = new HttpClient(target.port, target.host, target.secure);
  try {
    return (await client.send('GET', target.path)).status === 200;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

async function answersHttp2({ port, path, secure }: Target): Promise<boolean> {
  const session = connectHttp2(`${secure === true ? 'https' : 'http'}://127.0.0.1:${port}`, { rejectUnauthorized: false });
  try {
    // Neither of them fails a request that waits when the server closes the connection in order, as one that tries its ports does.
    const failed = Promise.race([once(session, 'error'), once(session, 'close'), delay(ANSWER_TIMEOUT_MS, undefined, { ref: false })]);
    const response = once(session.request({ ':path': path }), 'response') as Promise<[IncomingHttpHeaders]>;
    const headers = await Promise.race([response.then(([fields]) => fields), failed.then(() => undefined)]);
    return Number(headers?.[':status']) === 200;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}

export interface HttpResponse {
  readonly status: number;
  readonly text: string;
}

/** One keep-alive connection. Its requests go one after the other. */
export class HttpClient {
  readonly #agent: Agent;
  readonly #port: number;
  readonly #host: string;
  readonly #request: typeof httpRequest;

  constructor(port: number, host = '127.0.0.1', secure = false) {
    this.#port = port;
    this.#host = host;
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent = secure ? new TlsAgent({ ...options, rejectUnauthorized: false }) : new Agent(options);
    this.#request = secure ? httpsRequest : httpRequest;
  }

  /** Sends a request, with `body` as JSON when it is given. Throws when the connection fails. */
  async send(method: string, path: string, body?: unknown, fields: Readonly<Record<string, string>> = {}): Promise<HttpResponse> {
    const json = body === undefined ? '' : JSON.stringify(body);
    const described = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) };
    const headers = { ...described, ...fields };
    const request = this.#request({ host: this.#host, port: this.#port, method, path, headers, agent: this.#agent, timeout: SILENCE_MS });
    request.on('timeout', () => request.destroy(new Error(`no response within ${SILENCE_MS / 1000} s`)));
    request.end(json);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    return { status: response.statusCode ?? 0, text };
  }

  close(): void {
    this.#agent.destroy();
  }
}

function lastLines(output: string): string {
  return output.trim().split('\n').slice(-5).join('\n');
}
