import type { Peer } from '../../../../upstream/peer.js';
import type { MemberReader, MemberStream, MemberStreams, MemberTarget } from '../../member-stream.js';
import { Http2MemberStream } from './http2-member-stream.js';
import { Http2MemberConnection } from './member-connection.js';
import { RequestBlocks } from './request-block.js';

/**
 * Streams over HTTP/2: requests share the connections of their member, as many as it allows on each. A connection without streams is in the
 * pool of the upstream.
 */
export class Http2Streams implements MemberStreams {
  readonly needsLength = false;
  readonly sharesConnections = true;
  /** Connections that carry requests, or are being opened. */
  readonly #busy = new WeakMap<Peer, Http2MemberConnection[]>();
  readonly #blocks = new RequestBlocks();

  open(target: MemberTarget, mayReuse: boolean, reader: MemberReader): MemberStream {
    const connection = (mayReuse ? this.#shared(target) : undefined) ?? this.#connect(target);
    return new Http2MemberStream(connection, target, reader);
  }

  /** It takes no more streams. */
  forget(connection: Http2MemberConnection): void {
    const connections = this.#busy.get(connection.peer);
    const at = connections?.indexOf(connection) ?? -1;
    if (at >= 0) connections?.splice(at, 1);
  }

  #shared(target: MemberTarget): Http2MemberConnection | undefined {
    for (const connection of this.#of(target.peer)) if (connection.hasRoom && connection.fits(this, target)) return connection;
    const idle = target.upstream.keepalive.take(target.peer, target.scope, target.tls);
    if (idle instanceof Http2MemberConnection && idle.fits(this, target)) {
      idle.wake();
      this.#of(target.peer).push(idle);
      return idle;
    }
    // In one place the upstream is used with another protocol, or with another identity.
    idle?.close();
    return undefined;
  }

  #connect(target: MemberTarget): Http2MemberConnection {
    const connection = new Http2MemberConnection(this, target, this.#blocks);
    this.#of(target.peer).push(connection);
    return connection;
  }

  #of(peer: Peer): Http2MemberConnection[] {
    let connections = this.#busy.get(peer);
    if (connections === undefined) this.#busy.set(peer, (connections = []));
    return connections;
  }
}
