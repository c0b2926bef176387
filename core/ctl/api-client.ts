import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { EXIT, Failure } from './failure.js';
import type { Settings } from './settings.js';

/** Of a server that is named without a path: that of the shipped configuration. */
const DEFAULT_PREFIX = '/api';

export interface Request {
  readonly method: string;
  /** Below the base, with its query; or the whole path of a `Link`. */
  readonly path: string;
  readonly isWhole?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Response {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The HTTP side: one connection for each call. */
export class ApiClient {
  readonly #target: RequestOptions;
  readonly #prefix: string;
  readonly #secure: boolean;

  /** @throws Failure if the server is not a URL */
  constructor(private readonly settings: Settings) {
    const { target, prefix, secure } = parseServer(settings.server);
    this.#target = target;
    this.#prefix = prefix;
    this.#secure = secure;
  }

  /** @throws Failure if there is no response; one that is an error is a response */
  async send(request: Request): Promise<Response> {
    const response = await this.open(request);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (error) {
      throw this.#unreachable(error as Error);
    }
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() };
  }

  /** The response as soon as its head is there. */
  open({ method, path, isWhole = false, headers = {}, body }: Request): Promise<IncomingMessage> {
    const { ca, cert, key, token, timeoutMs } = this.settings;
    return new Promise((resolve, reject) => {
      const sending = (this.#secure ? requestHttps : requestHttp)({
        ...this.#target,
        ...(this.#secure && { ca, cert, key }),
        agent: false,
        method,
        path: isWhole ? path : this.#prefix + path,
        headers: {
          'user-agent': 'srvctl',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
        timeout: timeoutMs,
      });
      sending.once('timeout', () => sending.destroy(new Error(`no response within ${timeoutMs / 1000} s`)));
      sending.once('error', (error) => reject(this.#unreachable(error)));
      sending.once('response', resolve);
      sending.end(body);
    });
  }

  #unreachable(error: Error): Failure {
    const reason = error.message || (error as NodeJS.ErrnoException).code;
    return new Failure(EXIT.unavailable, `cannot reach the API at ${shown(this.settings.server)}: ${reason}`, [
      'check that srv runs with a control plane, and --server or SRVCTL_SERVER',
    ]);
  }
}

/** A URL without its password. */
function shown(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}

/** `unix:/path`, `unix:/path:/prefix`, or a URL; a URL without a path means that of the shipped configuration. */
function parseServer(server: string): { target: RequestOptions; prefix: string; secure: boolean } {
  const [, socketPath, prefix] = /^unix:(\/[^:]+)(?::(\/.*))?$/.exec(server) ?? [];
  if (socketPath !== undefined) {
    return { target: { socketPath, host: 'localhost' }, prefix: trimmed(prefix ?? ''), secure: false };
  }
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Failure(EXIT.usage, `invalid server "${server}"`, ['it must be http://host:port/api, https://… or unix:/path']);
  }
  const target = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    ...(url.username !== '' && { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
  };
  return { target, prefix: trimmed(url.pathname), secure: url.protocol === 'https:' };
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '') || DEFAULT_PREFIX;
}
