import { connect, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { FrameReader } from '../../core/net/http2/frame-reader.js';
import { HpackDecoder } from '../../core/net/http2/hpack-decoder.js';
import { waitFor } from '../harness/wait.js';
import { ACK, END_STREAM, ERRORS, PREFACE, Type, frame, ping, settings } from './frames.js';

/** What came, as a test wants to see it. */
export interface Received {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const MARK = 'the mark';

/** A client that sends the bytes it is told, and keeps the frames that come. */
export class Wire {
  readonly frames: Received[] = [];
  closed = false;
  readonly #reader = new FrameReader();
  readonly #hpack = new HpackDecoder();

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) =>
      this.#reader.read(chunk, {
        onFrame: (type, flags, stream, payload) => this.frames.push({ type, flags, stream, payload: Buffer.from(payload) }) > 0,
      }),
    );
    for (const event of ['end', 'error', 'close']) socket.on(event, () => (this.closed = true));
  }

  /** @param first what follows the preface of the client; by default SETTINGS with nothing in them */
  static async open(t: ExecutionContext, port: number, first = PREFACE + settings()): Promise<Wire> {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    const wire = new Wire(socket);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    wire.send(first);
    return wire;
  }

  send(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  /** Resolves when everything sent so far has been worked on: with what it led to. See {@link story}. */
  async settle(): Promise<string> {
    this.send(ping(MARK));
    const isMark = ({ type, flags, payload }: Received): boolean => type === Type.ping && flags === ACK && payload.latin1Slice() === MARK;
    await waitFor('an acknowledgement or the end', () => this.closed || this.frames.some(isMark));
    return this.story;
  }

  /** Resolves with the story when it matches. */
  async tells(pattern: RegExp): Promise<string> {
    await waitFor(`${String(pattern)}, so far: ${this.story}`, () => pattern.test(this.story));
    return this.story;
  }

  async end(): Promise<string> {
    await waitFor(`the end of the connection, so far: ${this.story}`, () => this.closed);
    return this.story;
  }

  /** What came but SETTINGS, window updates and the acknowledgements of this class, in words: `1: 200; 1: 5 bytes, end; RST 3 CANCEL; GOAWAY NO_ERROR`. */
  get story(): string {
    this.#told.push(...this.frames.slice(this.#toldFrames).flatMap((received) => this.#words(received) ?? []));
    this.#toldFrames = this.frames.length;
    return this.#told.join('; ');
  }

  readonly #told: string[] = [];
  #toldFrames = 0;

  /** Bytes of DATA on a stream. */
  bytes(stream: number): number {
    return this.frames.reduce((sum, { type, stream: of, payload }) => sum + (type === Type.data && of === stream ? payload.length : 0), 0);
  }

  count(type: number): number {
    return this.frames.filter((received) => received.type === type).length;
  }

  #words({ type, flags, stream, payload }: Received): string | undefined {
    const ends = (flags & END_STREAM) !== 0 ? ', end' : '';
    switch (type) {
      case Type.headers:
        return `${stream}: ${this.#status(payload)}${ends}`;
      case Type.data:
        return `${stream}: ${payload.length} bytes${ends}`;
      case Type.reset:
        return `RST ${stream} ${ERRORS[payload.readUInt32BE(0)] ?? '?'}`;
      case Type.goaway:
        return `GOAWAY ${ERRORS[payload.readUInt32BE(4)] ?? '?'}`;
      case Type.ping:
        return payload.latin1Slice() === MARK ? undefined : `PING ${payload.latin1Slice()}${flags === ACK ? ' ack' : ''}`;
      default:
        return undefined;
    }
  }

  #status(block: Buffer): string {
    let status = '';
    this.#hpack.decode(block, { onField: (name, value) => (status = name === ':status' ? value : status) });
    return status;
  }
}

/** Acknowledges the settings of the server. */
export const SETTINGS_ACK = frame(Type.settings, ACK, 0);
