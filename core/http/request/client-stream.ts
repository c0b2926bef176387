/** The other rooms as a request knows them: receivers of its response, and its owners. Interfaces only. */
import type { ClientConnection } from '../../contract/client-connection.js';
import type { BodySource, Handler, OpenSubrequest, ResponseBody, Subrequest, SubrequestOptions } from '../../contract/http.js';
import type { RequestServer } from '../site/virtual-server.js';
import type { HttpVariables } from '../site/variables.js';
import type { Connection } from '../../net/transport/connection.js';
import type { HttpContext } from './context.js';
import type { Lender } from './lender.js';
import type { Request } from './request.js';

/** How a request finds its server. */
export interface ServerSearch {
  readonly defaultServer: RequestServer;
  find(host: string): { readonly server: RequestServer; readonly captures: RegExpExecArray | undefined };
}

/** The address a request came to, with what is configured for it now. */
export interface RequestListener {
  readonly names: ServerSearch;
  readonly variables: HttpVariables;
  readonly secure: boolean;
}

/** Bytes in both directions, after a request has left HTTP (101, CONNECT). */
export interface Tunnel {
  /** @param borrowed the bytes are only valid during the call */
  fromClient(chunk: Buffer, borrowed: boolean): void;
  /** The client sent FIN. */
  clientEnded(): void;
  clientClosed(): void;
}

/** Carries a tunnel beside other requests of the client. */
export interface TunnelStream {
  /** Bytes for the client. */
  writeTunnel(request: Request, chunk: Buffer): void;
  pauseTunnel(): void;
  resumeTunnel(): void;
}

/**
 * The way back to the client of one request: an HTTP/1 connection, an HTTP/2 stream, the memory of a subrequest. Methods take the request
 * because an HTTP/1 connection serves one after the other: what a late caller says of an earlier one has no effect.
 */
export interface ClientStream {
  /** Facts about the client for modules. */
  readonly client: ClientConnection;
  readonly context: HttpContext;
  readonly listener: RequestListener;
  /** `HTTP/2.0`; undefined: what the request line says. */
  readonly protocol: string | undefined;

  /**
   * Sends an interim response, if the client's protocol has such.
   * @param status with its reason, as `103 Early Hints`
   * @param lines fields, each with its CRLF
   */
  writeInterim(request: Request, status: string, lines: string): void;
  /** Fixes status and fields. They leave with the first bytes of the body, or with {@link flush} or {@link end}. */
  writeHead(request: Request): void;
  /** The head was written, and none of it has left. */
  readonly holdsHead: boolean;
  /** Takes back a head that has not left: another one follows. */
  dropHead(request: Request): void;
  /** @param lender undefined: the stream may keep the bytes as long as it likes; else see {@link Lender}. */
  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void;
  /**
   * Sends the head, which has not left, and a part of a file after it, both in one piece. Absent, or false: nothing is sent, and the part has to
   * be read.
   */
  writeFile?(request: Request, file: number, from: number, count: number): boolean;
  /** As `sendFile` of a connection (core/net/transport), after the head. Absent: the body has to be read. */
  sendFile?(request: Request, file: number, from: number, count: number): number;
  flush(request: Request): void;
  /** The response is written. {@link finish} follows. */
  end(request: Request): void;
  /** More is waiting for the client than should: the source stops until its {@link RequestOwner.onDrain}. */
  readonly isBehind: boolean;
  /** Large pieces leave as they are, in the buffer of their lender. */
  readonly takesLargePieces: boolean;
  /** Some of what was written waits for the client, or it has no room, and a drain follows: a source that need not be ahead waits for it. */
  readonly awaitsDrain: boolean;
  /** Bytes that would leave at once, where that is known: a source that need not be ahead reads no more. Infinity: it is not known. */
  readonly room: number;
  /** The client takes nothing: send_timeout runs until it does. */
  watchSending(request: Request): void;

  /** The request body will be read: notifies a client that waits for it (RFC 9110, 10.1.1). */
  wantBody(request: Request): void;
  /** The body has a reader, or is discarded: what the client holds back may come. */
  resumeBody(request: Request): void;
  /** No more of the body is consumed for now. */
  pauseBody(request: Request): void;

  /** The request is over, its response complete. */
  finish(request: Request): void;
  /** The response cannot be completed: the client sees that it is cut off. */
  abort(request: Request): void;
  /** Leaves HTTP: all bytes of the client go to the tunnel. False: this stream cannot. */
  openTunnel(request: Request, tunnel: Tunnel): boolean;
  /** Carries bytes of a tunnel, or of a body without framing, as they are: the client's socket, or a stream of it. Undefined: there is none. */
  readonly bytePath: Connection | TunnelStream | undefined;
  /** Nothing more is written; the client may still send. */
  endTunnelOutput(request: Request): void;
  /** The tunnel is over: what is written still goes out. @param isBroken the other end was cut off, which HTTP/2 can tell */
  endTunnel(request: Request, isBroken: boolean): void;
}

/** A client stream in front of another one, which holds a part of the response back. */
export interface StreamFront extends ClientStream {
  /** The client has consumed what was written: sends as much as it may. */
  pump(): void;
  /** The request is over. */
  stop(): void;
}

/** Bytes of a body from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A sent piece of a body: bytes of it, or lines around them. */
export type BodyPart = ByteRange | Buffer;

/** The ranges of a body that are sent: the last stage of the response path. */
export interface RangeSelection {
  readonly parts: readonly BodyPart[];
  /** Bytes of the whole body. */
  readonly bodyLength: number;
  /** Sends what of the next piece of the body is in a range. */
  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void;
}

/** Takes the body of a response: see core/http/response. */
export interface ResponseSink {
  /** A filter has more waiting than it should, and the source stops until its {@link RequestOwner.onDrain}. */
  readonly isBehind: boolean;
  write(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void;
  /** The source has given everything: the response ends when the filters have. */
  end(): void;
  /** The client has consumed what was written. */
  onDrained(): void;
  /** The response is given up. */
  destroy(): void;
}

/** Finishes a request later: an exchange with an upstream, a body filter, a module that waits. */
export interface RequestOwner {
  /** It goes on when the client has sent FIN, and without a client as well. */
  readonly outlivesClient: boolean;
  /** The client is gone: the owner releases what it holds. It does not respond. */
  abort(): void;
  /** The response was given up, by a filter that failed: the owner releases what it holds. */
  discard(): void;
  /** Data written to the client has left: more may follow. */
  onDrain(): void;
}

/** Services of the phases for the rooms below them. */
export interface RequestFlow {
  /** Responds with a status and no content of its own: the configured error page, or the engine's. */
  reject(request: Request, status: number): void;
  /** Sends a complete response. */
  send(request: Request, body: Buffer, contentType: string | undefined): void;
  /** Starts again at the selection of a location, by the request's URI. */
  enterLocation(request: Request): void;
  enterNamedLocation(request: Request, name: string): void;
  respond(request: Request): ResponseBody;
  sendFrom(request: Request, source: BodySource): void;
  /** The same for a body that is there as a whole. */
  sendStored(request: Request, body: Buffer): void;
  subrequest(request: Request, uri: string, options: SubrequestOptions): Promise<Subrequest>;
  openSubrequest(request: Request, uri: string, options: SubrequestOptions): Promise<OpenSubrequest>;
  /** Runs the rest of a content handler that had to wait, and does with its result what the phase does. */
  settle(request: Request, content: Handler): void;
  /** Continues with the next handler after so many milliseconds. */
  delay(request: Request, ms: number): void;
  /** Chooses the location again by the path that a rewrite made. */
  relocate(request: Request): void;
  /** Continues with an `if` block of the location, by the id of its directive. */
  enterBranch(request: Request, id: number): void;
}
