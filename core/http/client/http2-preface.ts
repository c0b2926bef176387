import { PREFACE } from '../../net/http2/protocol.js';
import type { IdleClient } from '../../net/idle-clients.js';
import type { Timed } from '../../net/timers.js';
import type { HttpContext } from '../request/context.js';
import type { Connection } from './connection.js';
import type { ConnectionListener, SocketClient } from './socket-client.js';
import type { ClientSocket, SocketUser } from '../../net/socket-user.js';

/** Makes a connection of a client that speaks HTTP/2 after all. */
export interface Http2Opener {
  openHttp2(socket: ClientSocket, client: SocketClient): SocketUser;
}

export const enum Preface {
  None,
  /** It may become one. */
  Partial,
  /** Enough to tell: no method of HTTP/1 looks like that. */
  Whole,
}

/** Bytes that tell the preface of HTTP/2 from a request. */
const DISTINCT = 'PRI * HTTP/2'.length;

/** Whether the first bytes of a connection are the preface of HTTP/2 (RFC 9113, 3.4). */
export function prefaceIn({ bytes, at }: { readonly bytes: Buffer | undefined; readonly at: number }): Preface {
  if (bytes === undefined) return Preface.None;
  const length = Math.min(bytes.length - at, DISTINCT);
  if (PREFACE.compare(bytes, at, at + length, 0, length) !== 0) return Preface.None;
  return length === DISTINCT ? Preface.Whole : Preface.Partial;
}

/** A connection of HTTP/1 whose client has turned out to speak HTTP/2. */
interface Mistaken extends Timed, IdleClient, Connection {
  readonly client: SocketClient;
  readonly context: HttpContext;
  readonly listener: ConnectionListener & Http2Opener;
}

/** Hands the socket over to a connection of HTTP/2, with the bytes that are here. */
export function becomeHttp2(connection: Mistaken, early: Buffer | undefined): void {
  const { socket, client, context, listener } = connection;
  context.timers.forget(connection);
  context.idleClients.remove(connection);
  listener.connections.delete(connection);
  const successor = listener.openHttp2(socket, client);
  if (early !== undefined) successor.onData(early, false);
}
