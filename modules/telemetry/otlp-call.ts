import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
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
    const { certificates: ca } = settings;
    const options = { keepAlive: true, maxSockets: 1, lookup: this.#lookup };
    this.#agent = this.#isSecure ? new HttpsAgent({ ...options, ...(ca !== undefined && { ca }) }) : new HttpAgent(options);
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
    const literal = this.#url.hostname.replace(/^\[|\]$/g, '');
    // Nothing is looked up then.
    if (isIP(literal) !== 0) await this.assertAllowed(literal, this.#port);
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

  get #port(): number {
    return Number(this.#url.port || (this.#isSecure ? 443 : 80));
  }

  /** The address is checked between its look-up and the connection. */
  readonly #lookup: NonNullable<RequestOptions['lookup']> = (name, { all }, found) => {
    this.#addressOf(name).then(
      ({ address, family }) => (all === true ? found(null, [{ address, family }]) : found(null, address, family)),
      (error: NodeJS.ErrnoException) => found(error, ''),
    );
  };

  async #addressOf(name: string): Promise<LookupAddress> {
    const found = await lookup(name);
    await this.assertAllowed(found.address, this.#port);
    return found;
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
