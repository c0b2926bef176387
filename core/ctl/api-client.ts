import { setTimeout as sleep } from 'node:timers/promises';
import { Client, errors, type Dispatcher } from 'undici';
import { EXIT, CommandFailure } from './failure.js';
import type { ClientSettings } from './settings.js';

/** Of a server that is named without a path: that of the shipped configuration. */
const DEFAULT_PREFIX = '/api';

/** In the text of errors of calls that have changed nothing, and would succeed a moment later. */
const REPEAT = 'nothing was changed: repeat the call';

export interface SentRequest {
  readonly method: Dispatcher.HttpMethod;
  /** Below the base, with its query; or the whole path of a `Link`. */
  readonly path: string;
  readonly isWhole?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: string;
}

/** Where the API is. */
interface Target {
  readonly origin: string;
  readonly socketPath?: string;
  /** User and password. */
  readonly credentials?: string;
  readonly prefix: string;
}

/** The HTTP side: one connection for each call. */
export class ApiClient {
  readonly #target: Target;

  /** @throws Failure if the server is not a URL */
  constructor(private readonly settings: ClientSettings) {
    this.#target = parseServer(settings.server);
  }

  /**
   * A call during an upgrade of the server is made again, within the time limit.
   * @throws Failure if there is no response; one that is an error is a response
   */
  async send(request: SentRequest): Promise<ReceivedResponse> {
    const until = Date.now() + this.settings.timeoutMs;
    for (;;) {
      const response = await this.#sendOnce(request);
      const pause = Number(response.headers['retry-after'] ?? 0) * 1000;
      if (response.status !== 503 || !response.body.includes(REPEAT) || Date.now() + pause > until) return response;
      await sleep(pause);
    }
  }

  async #sendOnce(request: SentRequest): Promise<ReceivedResponse> {
    const { statusCode, headers, body } = await this.open(request);
    try {
      return { status: statusCode, headers, body: await body.text() };
    } catch (error) {
      throw this.#unreachable(error as Error);
    }
  }

  /** The response as soon as its head has arrived. */
  async open({ method, path, isWhole = false, headers = {}, body }: SentRequest): Promise<Dispatcher.ResponseData> {
    const { ca, cert, key, token, timeoutMs } = this.settings;
    const { origin, socketPath, credentials, prefix } = this.#target;
    const client = new Client(origin, {
      connect: {
        ...(socketPath !== undefined && { socketPath }),
        ...(ca && { ca }),
        ...(cert && { cert }),
        ...(key && { key }),
        timeout: timeoutMs,
      },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    try {
      return await client.request({
        method,
        path: isWhole ? path : prefix + path,
        reset: true,
        headers: {
          'user-agent': 'srvctl',
          ...(credentials !== undefined && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      });
    } catch (error) {
      throw this.#unreachable(error as Error);
    }
  }

  #unreachable(error: Error): CommandFailure {
    const reason = isTimeout(error)
      ? `no response within ${this.settings.timeoutMs / 1000} s`
      : error.message || (error as NodeJS.ErrnoException).code;
    return new CommandFailure(EXIT.unavailable, `cannot reach the API at ${shown(this.settings.server)}: ${reason}`, [
      'check that srv runs with a control plane, and --server or SRVCTL_SERVER',
    ]);
  }
}

/** A URL without its password. */
function shown(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}

function isTimeout(error: Error): boolean {
  return (
    error instanceof errors.ConnectTimeoutError || error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError
  );
}

/** `unix:/path`, `unix:/path:/prefix`, or a URL; a URL without a path means that of the shipped configuration. */
function parseServer(server: string): Target {
  const [, socketPath, prefix] = /^unix:(\/[^:]+)(?::(\/.*))?$/.exec(server) ?? [];
  if (socketPath !== undefined) return { origin: 'http://localhost', socketPath, prefix: trimmed(prefix ?? '') };
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new CommandFailure(EXIT.usage, `invalid server "${server}"`, ['it must be http://host:port/api, https://… or unix:/path']);
  }
  const { origin, username, password, pathname } = url;
  return {
    origin,
    ...(username !== '' && { credentials: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }),
    prefix: trimmed(pathname),
  };
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '') || DEFAULT_PREFIX;
}
