import { PREFACE } from '../../net/http2/protocol.js';
import type { SocketClient } from './socket-client.js';
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
