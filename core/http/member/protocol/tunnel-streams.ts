import { NO_BODY, type MemberCodec } from '../../../contract/member.js';
import type { MemberReader, MemberStream, MemberStreams, MemberTarget } from '../member-stream.js';
import { type SerialProtocol, SerialStream } from './serial-stream.js';

/** A member that is only connected to: the connection itself is its response to CONNECT. */
class ConnectProtocol implements SerialProtocol {
  speak(stream: SerialStream): MemberCodec {
    return {
      start: () => void stream.respond(200, '', NO_BODY),
      write: () => undefined,
      end: () => undefined,
      read: () => stream.fail('upstream sent data before the tunnel was open'),
    };
  }
}

/** Streams that become tunnels as soon as they are connected. Each has a connection of its own, which is never kept. */
export class TunnelStreams implements MemberStreams {
  readonly needsLength = false;
  readonly sharesConnections = false;
  readonly #protocol = new ConnectProtocol();

  open(target: MemberTarget, _mayReuse: boolean, reader: MemberReader): MemberStream {
    return new SerialStream(this.#protocol, target, reader);
  }
}
