/**
 * Protocols that members of upstreams are spoken to in: `ExchangePlan.protocol`. The core chooses the member, keeps connections, repeats
 * requests, limits times and keeps the accounts; a protocol turns a request into bytes and bytes into a response.
 */
import type { HttpRequest } from './http.js';

/** The end of a body is not known when its head is sent. */
export const LENGTH_UNKNOWN = -1;
/** There is no body, and nothing says how long it is. */
export const NO_BODY = -2;

/** The request of one attempt. */
export interface AttemptHead {
  readonly request: HttpRequest;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Field lines, each with its CRLF, Host first; none of them frames the body or belongs to one connection. */
  readonly fields: string;
  /** Bytes of the body, {@link LENGTH_UNKNOWN} or {@link NO_BODY}. */
  readonly length: number;
  /** Fields may follow the body: {@link MemberCodec.end} gets them. */
  readonly mayHaveTrailers: boolean;
  /** `settings` of the plan. A connection carries requests of all locations with the same protocol object. */
  readonly settings: unknown;
}

/** A protocol that carries one request at a time over a connection. An object lives as long as the configuration that made it. */
export interface MemberProtocol {
  /** Requests are sent when the length of their body is known. */
  readonly needsLength?: boolean;
  /** A connection was opened. The result uses it for its lifetime, for one request after the other. */
  speak(connection: MemberConnection): MemberCodec;
}

/** One side of the protocol, for one connection. An exception ends the connection and is a failure of the attempt. */
export interface MemberCodec {
  /**
   * Sends a request, with the part of its body that has arrived.
   * @param body pieces that do not change any more
   * @param ends the body is complete; otherwise {@link write} and {@link end} follow
   */
  start(head: AttemptHead, body: readonly Buffer[], ends: boolean): void;
  /** @param release called when the memory of the piece is not needed any more. Undefined: it may be retained. */
  write(piece: Buffer, release: (() => void) | undefined): void;
  /** @param trailers field lines, each with its CRLF */
  end(trailers: string): void;
  /** Bytes of the member. They are valid during the call. */
  read(bytes: Buffer): void;
  /** The member has closed the connection in order, and the response is not complete. True: that is how it ends. */
  readEnd?(): boolean;
}

/** The connection of a codec. Calls without a request in progress have no effect. */
export interface MemberConnection {
  /** Sends text of single bytes (latin1). */
  send(text: string): void;
  /** Sends bytes that do not change before `release` is called, or ever. */
  sendBytes(bytes: Buffer, release?: () => void): void;
  /**
   * The head of a response. The body follows with {@link pass}, and {@link complete} ends it.
   * @param fields field lines, each with its CRLF
   * @param length of the body, or {@link LENGTH_UNKNOWN}
   * @param reason in the status line; by default that of the status
   * @returns false if the attempt is over: the response goes nowhere, or the head is malformed
   */
  respond(status: number, fields: string, length: number, reason?: string): boolean;
  /**
   * A complete response. It is the last call for it: the connection may carry another request when it returns.
   * @param body in the bytes of {@link MemberCodec.read}, or in memory that is given away
   * @param reusable the connection may carry another request
   */
  respondWhole(status: number, fields: string, body: Buffer, reusable: boolean): void;
  /** A part of the body: in the bytes of {@link MemberCodec.read}, or in memory that is given away. */
  pass(bytes: Buffer, from: number, to: number): void;
  /** The response is complete. It is the last call for it, as {@link respondWhole} is. @param trailers field lines, each with its CRLF */
  complete(reusable: boolean, trailers?: string): void;
  /** The member has sent what it may not: the attempt fails. @param text for the log: `upstream sent invalid response` */
  fail(text: string): void;
}
