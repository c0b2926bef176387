/** Contract of the stream engine: sessions, handlers, phases, scopes, variables. */
import type { Address } from './address.js';
import type { ClientConnection } from './client-connection.js';
import type { AttemptHandler } from './member-attempt.js';
import type { BlockScope } from './scope.js';
import type { Directives } from './spec.js';
import type { Getter, GetterFamily, EngineTemplate } from './template.js';

/** Result of a handler: the next handler of the phase decides. */
export const DECLINED = -1;
/**
 * Result of a handler: it has taken the session over, and ends it within `handler_timeout`. {@link StreamSession.send},
 * {@link StreamSession.pass}, {@link StreamSession.converse} and relays to members have no such limit.
 */
export const DONE = -2;
/**
 * Result of a `preread` handler: it needs more bytes of the client, and is called again when some have come, or when there will be no more
 * ({@link StreamSession.isPrereadOver}).
 */
export const AGAIN = -3;
/** Result of a handler: this phase is passed. */
export const OK = 0;

/** The status that a session ends with: what `$status` shows. */
export const STREAM_OK = 200;
export const STREAM_BAD_REQUEST = 400;
export const STREAM_FORBIDDEN = 403;
export const STREAM_INTERNAL_ERROR = 500;
export const STREAM_BAD_GATEWAY = 502;
export const STREAM_UNAVAILABLE = 503;

/** {@link DECLINED}, {@link DONE}, {@link AGAIN}, {@link OK}, or the status to end the session with. */
export type StreamResult = number;

/** The phases of a session in their order; the TLS handshake is between `access` and `preread`. `content` has one owner a server. */
export const STREAM_PHASES = ['post_accept', 'preaccess', 'access', 'preread'] as const;
export type StreamPhase = (typeof STREAM_PHASES)[number];

/**
 * Synchronous; a promise only when it really waits: the session is parked until then, for `handler_timeout` at most. An exception, or an
 * invalid result, ends its session with 500 and is logged with the name of the module.
 */
export type StreamHandler = (session: StreamSession) => StreamResult | Promise<StreamResult>;

/** Handlers of a module in one server. Everything is optional; an absent part costs nothing. */
export interface StreamHandlers extends Partial<Record<StreamPhase, StreamHandler>> {
  /** Serves the session. A server with two such modules, or with none, is a configuration error. */
  content?: StreamHandler;
  /** For each attempt at a member of `proxy_pass`, see {@link AttemptEvent}. */
  memberAttempt?: AttemptHandler<StreamSession>;
  /** After the session has ended. A promise is not waited for; its rejection is logged. */
  log?: (session: StreamSession) => void;
}

export interface ConversationOptions {
  /** Milliseconds without a byte in either direction until the session ends, with {@link STREAM_OK}. */
  readonly idleTimeout: number;
}

/**
 * Reads from the client of a session, and writes to it, over TCP, and inside of TLS where the server speaks it. The connection is read only while
 * {@link read} waits, so that a module that is slow slows the client down. It is over when the session ends, or is passed on
 * ({@link StreamSession.pass}, or the handler of a relay), which begins with the bytes that were not read.
 */
export interface Conversation {
  /**
   * Resolves with the next bytes, as many as have arrived; first {@link StreamSession.preread}. Undefined: the client sends no more, or the
   * conversation is over. One at a time.
   */
  read(): Promise<Buffer | undefined>;
  /** The next read begins with these bytes: the part of a read that is for what follows. */
  unread(bytes: Buffer): void;
  /** A string is bytes (latin1). Bytes must not be changed any more. False: the client is slow, wait for {@link drained}. */
  write(data: string | Uint8Array): boolean;
  /** Resolves when the client has caught up, at once if it has not fallen behind, and when the conversation is over. */
  drained(): Promise<void>;
}

export type StreamTemplate = EngineTemplate<StreamSession>;
/** A named value of a session, see {@link Getter}. */
export type StreamVariable = Getter<StreamSession>;
/** The getter of a family of variables, see {@link GetterFamily}. */
export type StreamVariablePrefix = GetterFamily<StreamSession>;

/** The client of a session. The address is that of the connection until a module sets another one. */
export type SessionClient = Omit<ClientConnection, 'acceptedAt' | 'requests' | 'isPipelined'>;

/** One connection of a client, or over UDP the datagrams that belong together. Valid until its log phase is over. */
export interface StreamSession {
  readonly protocol: 'TCP' | 'UDP';
  readonly connection: SessionClient;
  /** Epoch milliseconds of its begin. */
  readonly startTime: number;
  /** 0 until it ends: one of {@link STREAM_OK} and its company. */
  readonly status: number;
  /** Bytes of the client, and bytes to it. Over TLS those inside of it. */
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** The server it is in. `scope.directive` identifies it. */
  readonly scope: StreamScope;
  /** Data that was received and is not passed on yet: for `preread` and what follows. At most `preread_buffer_size`; over UDP the first datagram. */
  readonly preread: Buffer;
  /**
   * No more will come to {@link preread}: the client has ended its side, `preread_timeout` is over, or `preread_buffer_size` is full. A handler that
   * returns {@link AGAIN} all the same ends the session, with {@link STREAM_OK}, or {@link STREAM_BAD_REQUEST} where the buffer is full.
   */
  readonly isPrereadOver: boolean;
  /** Captures of the last regular expression that matched: `$1`, `$name`. A module that matches one sets it. */
  captures: RegExpExecArray | undefined;
  /** Value of a variable by its name without the dollar. */
  variable(name: string): string | undefined;
  /** Gives a variable that the configuration defines (`set`, a named group) its value for this session. */
  assign(variable: string, value: string): void;
  /** Sends this to the client, and ends the session with {@link STREAM_OK} when it is out. A string is bytes (latin1). Returns {@link DONE}. */
  send(data: string | Uint8Array): StreamResult;
  /**
   * Takes the session over, to read from the client and to write to it: for `content`. It ends with the result of the handler, with {@link end}, or
   * with the idle time, and is not limited by `handler_timeout`. The connection is closed when everything written is sent.
   * @throws Error over UDP
   */
  converse(options: ConversationOptions): Conversation;
  /**
   * Passes the connection on to the server that listens on an address in this process, which takes it as if it had accepted it and reads again
   * what was read. The session is over when the connection is closed; its log phase is not run. Returns {@link DONE}, or the status to end
   * with, which is logged, where that is not possible.
   */
  pass(address: Address): StreamResult;
  /** Ends the session: for a handler that has returned {@link DONE}, and for what happens later. Without effect after its end. */
  end(status: StreamResult): void;
  /**
   * Continues in the server of that name among the servers of the session's address, else in the default server: for `ssl_preread`. The
   * next handlers are those of that server.
   * @param name as the client gave it
   */
  chooseServer(name: string): void;
  /** Another client than the one that is connected: for access rules, logs and variables. */
  setClientAddress(address: string, port: number): void;
  /** Calls `step` once when the session is over, at once if it is over already: to release what it holds. */
  atEnd(step: (session: StreamSession) => void): void;
  /** A module's own state of this session. `key` is any object of the module, by identity. */
  get(key: object): unknown;
  set(key: object, value: unknown): void;
}

/** Where a module is asked to compile: one server of `stream`, with its typed configuration. */
export interface StreamScope<D extends Directives = Directives> extends BlockScope<D, 'stream' | 'server', StreamSession> {
  readonly parent: StreamScope | undefined;
}
