import { FRAME_COST } from '../../../../net/http2/flood-guard.js';
import { broken, FrameDispatcher } from '../../../../net/http2/frame-dispatcher.js';
import type { TableField } from '../../../../net/http2/header-table.js';
import { HpackDecoder } from '../../../../net/http2/hpack-decoder.js';
import type { Http2MemberStream } from './http2-member-stream.js';
import type { Http2MemberConnection } from './member-connection.js';
import { Http2ResponseFields } from './response-fields.js';

/** Bytes of fields for a stream that is over. */
const CLOSED_LIMIT = 8192;

/** Gives the frames of a member their meaning. @throws Http2Error what ends the connection */
export class MemberFrames extends FrameDispatcher {
  readonly #decoder: HpackDecoder;
  /** The last block, and its text: responses of one second mostly have the same fields. */
  #recentBlock = '';
  #recentText = '';
  /** Fields that it has put into the table (nginx sends each as if it were new). Undefined: the block refers to the table. */
  #recentAdded: readonly TableField[] | undefined = undefined;
  /** How often the table had changed, where the block did not change it; else -1. */
  #recentChanges = -1;

  constructor(private readonly connection: Http2MemberConnection) {
    super(connection, 0);
    this.#decoder = new HpackDecoder(connection.context.huffman);
  }

  protected receiveData(id: number, data: Buffer, flowing: number, ends: boolean): void {
    this.#streamOf(id)?.receive(data, flowing, ends);
  }

  protected assertHeaders(id: number): void {
    this.assertOpened(id, 'HEADERS');
  }

  /** A whole header block: a response, an interim one, or trailers. All blocks are decoded: they change the table. */
  protected receiveBlock(id: number, ends: boolean, block: Buffer): void {
    const stream = this.#streamOf(id);
    if (stream === undefined || stream.hasHead) {
      const fields = new Http2ResponseFields(stream?.headLimit ?? CLOSED_LIMIT, true);
      this.#decoder.decode(block, fields);
      stream?.receiveTrailers(fields, ends, block.length);
      return;
    }
    const bytes = block.latin1Slice();
    if (bytes === this.#recentBlock && this.#recentText.length <= stream.headLimit && this.#isRepeated()) {
      stream.receiveHead(this.#recentText, ends, block.length);
      return;
    }
    const before = this.#decoder.changes;
    const fields = new Http2ResponseFields(stream.headLimit, false);
    this.#decoder.decode(block, fields);
    const { text } = fields;
    if (text === '') {
      stream.failHead(fields);
      return;
    }
    this.#recentBlock = bytes;
    this.#recentText = text;
    this.#recentAdded = this.#decoder.added;
    this.#recentChanges = this.#decoder.changes === before ? before : -1;
    stream.receiveHead(text, ends, block.length);
  }

  /** The block that came last has come again: if its fields are still the same, the table changes as it does by them. */
  #isRepeated(): boolean {
    if (this.#recentAdded !== undefined) {
      this.#decoder.repeat(this.#recentAdded);
      return true;
    }
    return this.#recentChanges === this.#decoder.changes;
  }

  protected receiveReset(id: number, code: number): void {
    this.spend(FRAME_COST);
    this.connection.streams.get(id)?.onReset(code);
  }

  protected receivePushPromise(): never {
    throw broken('PUSH_PROMISE, which was not allowed');
  }

  protected receiveGoaway(last: number): void {
    this.connection.onGoaway(last);
  }

  protected receiveWindow(id: number, increment: number): void {
    if (increment === 0) throw broken('WINDOW_UPDATE of 0');
    const stream = this.connection.streams.get(id);
    if (stream === undefined) return;
    stream.widen(increment);
    this.connection.sender.takeTurns();
  }

  /** Undefined: it is over, and this was on its way. */
  #streamOf(id: number): Http2MemberStream | undefined {
    const stream = this.connection.streams.get(id);
    if (stream === undefined) this.spend(FRAME_COST);
    else stream.touch();
    return stream;
  }

  protected assertOpened(id: number, frame: string): void {
    if (id % 2 === 0 || id > this.connection.lastStream) throw broken(`${frame} on a stream that is not open`);
  }
}
