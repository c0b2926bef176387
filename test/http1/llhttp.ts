/** Node's own parser (llhttp, strict) as a second opinion: the same bytes through node:http, on streams in memory instead of sockets. */
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import type { Message } from './wire.js';

/** What llhttp reads: whole messages in order, and the code of the error that ended it. */
export interface Opinion {
  messages: Message[];
  error: string;
}

type Head = Omit<Message, 'body' | 'trailers'>;
type ResponseFacts = Pick<IncomingMessage, 'httpVersionMajor' | 'httpVersionMinor' | 'rawHeaders'> & {
  statusCode?: number | undefined;
  statusMessage?: string | undefined;
};

/** More than any test sends, so that llhttp rejects for what a message says and not for its size. */
const MAX_HEADER_SIZE = 1 << 20;

/** llhttp takes HTTP/0.9 and HTTP/2.0, which we never do. */
const OTHER_VERSION = -1;

/** A connection whose peer sends `input` and then closes its side. What is written to it is lost. */
class Peer extends Duplex {
  readonly #input: Buffer;

  constructor(input: Buffer) {
    super({ autoDestroy: false });
    this.#input = input;
  }

  override _read(): void {
    this.push(this.#input);
    this.push(null);
  }

  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
  }

  /** What node:http calls on its sockets and streams do not have. */
  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
}

/** Waits until the streams have handed on all that they hold: it is all in memory, so it never takes more than a few turns. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Messages in the order of their heads, which is not the order in which their bodies end. */
class Collection {
  readonly #slots: (Message | undefined)[] = [];
  error = '';

  /** Adds a message without a body. */
  add(head: Head): void {
    this.#slots.push({ ...head, body: '', trailers: '' });
  }

  /** Adds `message` when its body is complete. */
  collect(message: IncomingMessage, head: Head): void {
    const slot = this.#slots.push(undefined) - 1;
    let body = '';
    message.on('error', () => {});
    message.on('data', (chunk: Buffer) => (body += chunk.latin1Slice()));
    message.on('end', () => {
      if (message.complete) this.#slots[slot] = { ...head, body, trailers: trailersOf(message) };
    });
  }

  fail(error: NodeJS.ErrnoException): void {
    this.error ||= error.code ?? error.message;
  }

  /** The messages before the first one that is not complete. */
  get opinion(): Opinion {
    const missing = this.#slots.indexOf(undefined);
    const whole = missing < 0 ? this.#slots : this.#slots.slice(0, missing);
    return { messages: whole as Message[], error: this.error };
  }
}

/** Trailers as names and values: white space around the values is not kept. */
function trailersOf(message: IncomingMessage): string {
  const raw = message.rawTrailers;
  let lines = '';
  for (let i = 0; i < raw.length; i += 2) lines += `${raw[i]}: ${raw[i + 1]}\r\n`;
  return lines;
}

/** Reads requests as a server. */
export class LlhttpServer {
  readonly #server: Server;
  #collection = new Collection();

  constructor() {
    this.#server = createServer({ insecureHTTPParser: false, maxHeaderSize: MAX_HEADER_SIZE });
    this.#server.maxHeadersCount = 0;
    const take = (message: IncomingMessage): void => this.#collection.collect(message, requestHead(message));
    for (const event of ['request', 'checkContinue', 'checkExpectation']) this.#server.on(event, take);
    // Node takes the connection away from the parser after a CONNECT.
    this.#server.on('connect', (message: IncomingMessage) => this.#collection.add(requestHead(message)));
    // Not destroyed here: what was complete before the error is still on its way through the streams.
    this.#server.on('clientError', (error) => this.#collection.fail(error));
  }

  async read(input: Buffer): Promise<Opinion> {
    this.#collection = new Collection();
    const peer = new Peer(input);
    this.#server.emit('connection', peer);
    await settled();
    peer.destroy();
    return this.#collection.opinion;
  }

  close(): void {
    this.#server.close();
  }
}

function requestHead({ method = '', url = '', httpVersionMajor, httpVersionMinor, rawHeaders }: IncomingMessage): Head {
  return { first: method, second: url, minor: httpVersionMajor === 1 ? httpVersionMinor : OTHER_VERSION, fields: rawHeaders };
}

function responseHead({ statusCode = 0, statusMessage = '', httpVersionMajor, httpVersionMinor, rawHeaders }: ResponseFacts): Head {
  return {
    first: String(statusCode),
    second: statusMessage,
    minor: httpVersionMajor === 1 ? httpVersionMinor : OTHER_VERSION,
    fields: rawHeaders,
  };
}

/** Reads the responses to one request with `method` as a client: interim ones and the final one. */
export async function llhttpResponse(input: Buffer, method: string): Promise<Opinion> {
  const collection = new Collection();
  const peer = new Peer(input);
  const call = request({ method, createConnection: () => peer, insecureHTTPParser: false, maxHeaderSize: MAX_HEADER_SIZE });
  call.maxHeadersCount = 0;
  call.on('information', (message) => collection.add(responseHead(message)));
  call.on('upgrade', (message) => collection.add(responseHead(message)));
  call.on('response', (message) => collection.collect(message, responseHead(message)));
  call.on('error', (error) => collection.fail(error));
  call.end();
  await settled();
  peer.destroy();
  return collection.opinion;
}
