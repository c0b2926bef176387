import type { MemberReader, MemberStream, MemberStreams, MemberTarget } from '../member-stream.js';
import { type SerialProtocol, SerialStream } from './serial-stream.js';

/** Streams of a protocol that carries one request at a time over a connection. Idle connections are in the pool of the upstream. */
export class SerialStreams implements MemberStreams {
  readonly needsLength: boolean;
  readonly sharesConnections = false;

  constructor(private readonly protocol: SerialProtocol) {
    this.needsLength = protocol.needsLength === true;
  }

  open(target: MemberTarget, mayReuse: boolean, reader: MemberReader): MemberStream {
    const idle = mayReuse ? target.upstream.keepalive.take(target.peer, target.scope, target.tls) : undefined;
    if (idle instanceof SerialStream && idle.fits(this.protocol, target)) {
      idle.reopen(target, reader);
      return idle;
    }
    // In one place the upstream is used with another protocol, or with another identity.
    idle?.close();
    return new SerialStream(this.protocol, target, reader);
  }
}
