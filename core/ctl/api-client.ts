import { request as requestByHttp, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, CommandFailure } from './failure.js';
import type { ClientSettings } from './settings.js';

/** Of a server that is named without a path: that of the shipped configuration. */
const DEFAULT_PREFIX = '/api';

/** In the text of errors of calls that have changed nothing, and would succeed a moment later. */
const REPEAT = 'nothing was changed: repeat the call';

export interface SentRequest {
  readonly method: string;
  /** Below the base, with its query; or the whole path of a `Link`. */
  readonly path: string;
  readonly isWhole?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A response whose body is still to be read. */
export interface UnreadResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** Where the API is. */
interface Target {
  readonly isSecure: boolean;
  /** Host and port, or the path of a unix socket. */
  readonly address: Pick<RequestOptions, 'host' | 'port' | 'socketPath'>;
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
    const { status, headers, body } = await this.open(request);
    try {
      return { status, headers, body: await text(body) };
    } catch (error) {
      throw this.#unreachable(error as Error);
    }
  }

  /** The response as soon as its head has arrived. */
  async open({ method, path, isWhole = false, headers = {}, body }: SentRequest): Promise<UnreadResponse> {
    const { ca, cert, key, token, timeoutMs } = this.settings;
    const { isSecure, address, credentials, prefix } = this.#target;
    try {
      const response = await this.#respond(
        {
          ...address,
          ...(isSecure && { ca, cert, key }),
          method,
          path: isWhole ? path : prefix + path,
          agent: false,
          timeout: timeoutMs,
          headers: {
            'user-agent': 'srvctl',
            ...(credentials !== undefined && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        body,
      );
      return { status: response.statusCode ?? 0, headers: response.headers, body: response };
    } catch (error) {
      throw this.#unreachable(error as Error);
    }
  }

  async #respond(options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
    // TLS is loaded where it is used: most commands go to the same machine.
    const send = this.#target.isSecure ? (await import('node:https')).request : requestByHttp;
    return new Promise((resolve, reject) => {
      let opened: IncomingMessage | undefined;
      const request = send(options, (response) => resolve((opened = response)));
      request.on('error', reject);
      // While it connects, before the response and between two parts of it.
      request.once('timeout', () => (opened ?? request).destroy(new Error(`no response within ${this.settings.timeoutMs / 1000} s`)));
      // As bytes: Node.js writes the head in the encoding of a body that is a text.
      request.end(body === undefined ? undefined : Buffer.from(body));
    });
  }

  #unreachable(error: Error): CommandFailure {
    const reason = error.message || (error as NodeJS.ErrnoException).code;
    return new CommandFailure(EXIT.unavailable, `cannot reach the API at ${shown(this.settings.server)}: ${reason}`, [
      'check that srv runs with a control plane, and --server or SRVCTL_SERVER',
    ]);
  }
}

/** A URL without its password. */
function shown(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}

/** `unix:/path`, `unix:/path:/prefix`, or a URL; a URL without a path means that of the shipped configuration. */
function parseServer(server: string): Target {
  const [, socketPath, prefix] = /^unix:(\/[^:]+)(?::(\/.*))?$/.exec(server) ?? [];
  if (socketPath !== undefined) return { isSecure: false, address: { host: 'localhost', socketPath }, prefix: trimmed(prefix ?? '') };
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new CommandFailure(EXIT.usage, `invalid server "${server}"`, ['it must be http://host:port/api, https://… or unix:/path']);
  }
  const { protocol, hostname, port, username, password, pathname } = url;
  return {
    isSecure: protocol === 'https:',
    address: { host: hostname.replace(/^\[(.*)\]$/, '$1'), ...(port !== '' && { port }) },
    ...(username !== '' && { credentials: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }),
    prefix: trimmed(pathname),
  };
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '') || DEFAULT_PREFIX;
}
