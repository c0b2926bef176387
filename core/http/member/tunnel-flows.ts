import { ByteFlow, type FlowOwner } from '../../net/byte-flow.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import type { TunnelStream } from '../request/client-stream.js';
import type { Request } from '../request/request.js';

/** Bytes the server's socket may hold before the client of a stream has to wait. */
const HIGH_WATER = 131_072;

/** Follows what moves in a tunnel. */
interface FlowsUser {
  onSent(): void;
  /** Bytes of the server. */
  onReceived(length: number): void;
}

/**
 * The bytes of a tunnel in both directions, with their accounts. Where the client has a socket of its own they flow from one socket to the other one
 * as in the stream module: large data without being read, where the system can. Over HTTP/2 they are the data of a stream.
 */
export class TunnelFlows implements FlowOwner {
  readonly #up: ByteFlow | undefined;
  readonly #down: ByteFlow | undefined;
  /** Undefined: see {@link #up}. */
  readonly #stream: TunnelStream | undefined;

  constructor(
    private readonly request: Request,
    private readonly upstream: PeerConnection,
    private readonly user: FlowsUser,
  ) {
    const { bytePath } = request.stream;
    if (bytePath === undefined || 'writeTunnel' in bytePath) this.#stream = bytePath;
    else {
      const { context, socket, memory } = upstream;
      this.#up = new ByteFlow(bytePath, bytePath.memory, socket, context, 0, this);
      this.#down = new ByteFlow(socket, memory, bytePath, context, 0, this);
    }
  }

  /** @param borrowed the bytes are only valid during the call */
  fromClient(chunk: Buffer, borrowed: boolean): void {
    this.user.onSent();
    if (this.#up !== undefined) {
      this.upstream.bytesSent += chunk.length;
      this.#up.write(chunk, borrowed);
      return;
    }
    this.upstream.writeBytes(borrowed ? Buffer.from(chunk) : chunk);
    if (this.upstream.socket.writableLength > HIGH_WATER) this.#stream?.pauseTunnel();
  }

  /** @param borrowed as of {@link fromClient} */
  fromServer(chunk: Buffer, borrowed: boolean): void {
    const { request } = this;
    this.user.onReceived(chunk.length);
    if (this.#down !== undefined) {
      request.bytesSent += chunk.length;
      this.#down.write(chunk, borrowed);
      return;
    }
    this.#stream?.writeTunnel(request, borrowed ? Buffer.from(chunk) : chunk);
    if (request.stream.isBehind) this.upstream.socket.pause();
  }

  onPassed(flow: ByteFlow, count: number): void {
    this.upstream.context.clock.refresh();
    if (flow === this.#up) {
      this.upstream.bytesSent += count;
      this.user.onSent();
    } else {
      this.request.bytesSent += count;
      this.user.onReceived(count);
    }
  }

  /** The client has consumed what was written. */
  clientDrained(): void {
    if (this.#down !== undefined) this.#down.onDrain();
    else this.upstream.socket.resume();
  }

  serverDrained(): void {
    if (this.#up !== undefined) this.#up.onDrain();
    else this.#stream?.resumeTunnel();
  }

  /** Nothing is read any more. */
  stop(): void {
    this.#up?.stop();
    this.#down?.stop();
    this.upstream.socket.pause();
  }
}
