import { FRAME_COST, RESET_COST } from '../../../net/http2/flood-guard.js';
import { broken, dependency, FrameDispatcher, PRIORITY_LENGTH } from '../../../net/http2/frame-dispatcher.js';
import { HpackDecoder } from '../../../net/http2/hpack-decoder.js';
import { Http2ErrorCode, Http2Error, LARGEST_WINDOW } from '../../../net/http2/protocol.js';
import { beginRequest } from './begin-request.js';
import type { Http2Connection } from './http2-connection.js';
import { Http2Stream } from './http2-stream.js';
import { RequestFields } from './request-fields.js';

/** A piece of a body that is shorter is joined with others of the same read: each costs an object. */
const SHORT_PIECE = 1024;

/** Gives the frames of a client their meaning. @throws Http2Error what ends the connection */
export class FrameHandler extends FrameDispatcher {
  /** Number of the last stream that was served, for GOAWAY. */
  lastServed = 0;
  /** Numbers of the last two streams that the client has opened, whether they were served or not. Those between them never will be. */
  #lastOpened = 0;
  #openedBefore = 0;
  readonly #decoder: HpackDecoder;

  constructor(private readonly connection: Http2Connection) {
    super(connection, FRAME_COST);
    this.#decoder = new HpackDecoder(connection.context.huffman);
  }

  protected receiveData(id: number, data: Buffer, flowing: number, ends: boolean): void {
    const stream = this.connection.streams.get(id);
    if (stream === undefined) this.#onClosedStream(id);
    else if (stream.remoteEnded) stream.breakOff(Http2ErrorCode.StreamClosed);
    else {
      stream.remoteEnded = ends;
      if (ends || data.length >= SHORT_PIECE) stream.receive(data, flowing);
      else if (flowing > 0) stream.gather(data, flowing);
      if (ends) stream.receiveEnd();
    }
  }

  /** A frame of a stream that is over: it may have been on its way when this side reset it (RFC 9113, 5.1). */
  #onClosedStream(id: number): void {
    const { connection } = this;
    this.spend(FRAME_COST);
    // Streams after GOAWAY were never opened for this side.
    if (connection.isLeaving || connection.resetStreams.has(id)) return;
    connection.resetClosed(id);
  }

  protected assertHeaders(id: number): void {
    if (id === 0 || id % 2 === 0) throw broken('HEADERS on a stream that no client opens');
  }

  protected override onBlockBegun(): void {
    this.connection.onBlockBegun();
  }

  protected override onBlockEnded(): void {
    this.connection.onBlockEnded();
  }

  /** A whole header block: a request, or the trailers of one. */
  protected receiveBlock(id: number, ends: boolean, block: Buffer, isSelfDependent: boolean): void {
    const { connection } = this;
    const isKnown = id <= this.#lastOpened;
    const fields = new RequestFields(connection.listener.names, isKnown);
    this.#decoder.decode(block, fields);
    if (isKnown) {
      const open = connection.streams.get(id);
      if (open !== undefined) this.#trailers(open, ends, fields);
      else this.#headersOfClosedStream(id);
      return;
    }
    this.#openedBefore = this.#lastOpened;
    this.#lastOpened = id;
    if (connection.isLeaving) return;
    this.lastServed = id;
    if (connection.streams.size >= connection.maxStreams) {
      this.spend(FRAME_COST);
      connection.refuse(id, ends);
      return;
    }
    const stream = new Http2Stream(id, connection);
    stream.remoteEnded = ends;
    connection.openStream(stream);
    if (isSelfDependent) stream.breakOff(Http2ErrorCode.ProtocolError);
    else beginRequest(stream, fields);
  }

  /** Trailers of a stream that this side has reset, or an error: of a stream that is over, or was skipped (RFC 9113, 5.1 and 5.1.1). */
  #headersOfClosedStream(id: number): void {
    this.spend(FRAME_COST);
    if (this.connection.isLeaving || this.connection.resetStreams.has(id)) return;
    if (id > this.#openedBefore && id < this.#lastOpened) throw broken('HEADERS on a stream that was skipped');
    throw new Http2Error(Http2ErrorCode.StreamClosed, 'HEADERS on a closed stream');
  }

  #trailers(stream: Http2Stream, ends: boolean, fields: RequestFields): void {
    if (stream.remoteEnded) {
      stream.breakOff(Http2ErrorCode.StreamClosed);
      return;
    }
    if (!ends || fields.malformed !== '' || fields.isTooLarge) stream.breakOff(Http2ErrorCode.ProtocolError);
    else {
      const body = stream.request?.body;
      if (body !== undefined) body.trailers = fields.lines;
      stream.receiveEnd();
    }
  }

  protected override receivePriority(id: number, payload: Buffer): void {
    this.spend(FRAME_COST);
    if (id === 0) throw broken('PRIORITY on the connection');
    if (payload.length !== PRIORITY_LENGTH) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'PRIORITY of a wrong length');
    if (dependency(payload) === id) this.connection.streams.get(id)?.breakOff(Http2ErrorCode.ProtocolError);
  }

  protected receiveReset(id: number): void {
    this.spend(RESET_COST);
    this.connection.streams.get(id)?.onReset();
  }

  protected override onSettingsAcknowledged(): void {
    this.connection.onSettingsAcknowledged();
  }

  protected override onPingAcknowledged(payload: Buffer): void {
    this.connection.onPingAcknowledged(payload);
  }

  protected receivePushPromise(): never {
    throw broken('PUSH_PROMISE from a client');
  }

  /** The client opens no more streams, which it does not have to. */
  protected receiveGoaway(): void {}

  protected receiveWindow(id: number, increment: number): void {
    const stream = this.connection.streams.get(id);
    if (stream === undefined) return;
    if (increment === 0) stream.breakOff(Http2ErrorCode.ProtocolError);
    else if (stream.sendWindow + increment > LARGEST_WINDOW) stream.breakOff(Http2ErrorCode.FlowControlError);
    else {
      stream.widen(increment);
      this.connection.sender.takeTurns();
    }
  }

  protected assertOpened(id: number, frame: string): void {
    if (id === 0 || id > this.#lastOpened) throw broken(`${frame} on a stream that is not open`);
  }
}
