import { lookup } from 'node:dns/promises';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { gzipSync } from 'node:zlib';
import type { ExportSettings } from './export-messages.js';

/** Bytes of a response that are read: a longer one is malformed. */
export const LONGEST_RESPONSE = 65_536;

/** Response of a collector. */
export interface OtlpResponse {
  readonly status: number;
  readonly type: string;
  /** Undefined: longer than it may be. */
  readonly body: Buffer | undefined;
  readonly retryAfter: string | undefined;
}

/** Throws if no connection may be made to this address. */
export type AssertAllowed = (host: string, port: number) => Promise<void>;

/** Calls of one collector, over one connection that is kept. */
export class OtlpCalls {
  readonly #agent: HttpAgent;
  readonly #url: URL;
  readonly #isSecure: boolean;

  constructor(
    private readonly settings: ExportSettings,
    url: string,
    private readonly assertAllowed: AssertAllowed,
  ) {
    this.#url = new URL(url);
    this.#isSecure = this.#url.protocol === 'https:';
    this.#agent = new (this.#isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
    // The address is checked between its look-up and the connection.
    this.#agent.createConnection = (_, created) => {
      this.#connect().then(
        (socket) => created?.(null, socket),
        (error: Error) => created?.(error, undefined as never),
      );
      return undefined;
    };
  }

  /** @throws Error (rejects) if there was no response in time */
  async send(payload: Uint8Array): Promise<OtlpResponse> {
    try {
      return await this.#send(payload);
    } catch (error) {
      throw explained(error as NodeJS.ErrnoException, this.settings.timeout);
    }
  }

  async #send(payload: Uint8Array): Promise<OtlpResponse> {
    const { headers, gzip, timeout } = this.settings;
    const body = gzip ? gzipSync(payload) : payload;
    const options: RequestOptions = {
      method: 'POST',
      agent: this.#agent,
      headers: {
        'Content-Type': 'application/x-protobuf',
        'User-Agent': `srv/${this.settings.version}`,
        ...(gzip && { 'Content-Encoding': 'gzip' }),
        ...headers,
        'Content-Length': body.length,
      },
      signal: AbortSignal.timeout(timeout),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const call = (this.#isSecure ? httpsRequest : httpRequest)(this.#url, options, resolve);
      call.once('error', reject);
      call.end(body);
    });
    const head = headOf(response);
    if (head.status >= 200 && head.status <= 299) return { ...head, body: await bodyOf(response) };
    // The status says it all: a page of an error may be long.
    response.destroy();
    return { ...head, body: Buffer.alloc(0) };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #connect(): Promise<Socket> {
    const { hostname } = this.#url;
    const name = hostname.replace(/^\[|\]$/g, '');
    const port = Number(this.#url.port || (this.#isSecure ? 443 : 80));
    const host = isIP(name) === 0 ? (await lookup(name)).address : name;
    await this.assertAllowed(host, port);
    const { certificates: ca } = this.settings;
    return this.#isSecure
      ? connectTls({ host, port, ...(isIP(name) === 0 && { servername: name }), ...(ca !== undefined && { ca }) })
      : connect({ host, port });
  }
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Omit<OtlpResponse, 'body'> {
  return { status: statusCode, type: headers['content-type'] ?? '', retryAfter: headers['retry-after'] };
}

async function bodyOf(response: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    // Leaving the loop closes the connection.
    if (length > LONGEST_RESPONSE) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** In words for operators, where those of Node.js leave open what has happened. */
function explained(error: NodeJS.ErrnoException, timeout: number): Error {
  const { name, code = '', message } = error;
  if (name === 'TimeoutError' || name === 'AbortError') return new Error(`no response of the collector within ${timeout} ms`);
  if (code.startsWith('HPE_'))
    return new Error(`the response is not HTTP: the endpoint must be a port for OTLP over HTTP, mostly 4318 (${message})`);
  return message === 'aborted' ? new Error('the collector closed the connection within its response') : error;
}
