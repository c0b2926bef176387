import { PassedSize } from '../../net/passed-size.js';
import type { PassingUser } from '../../net/transport/connection.js';
import type { Request } from '../request/request.js';
import type { MemberStream } from './member-stream.js';

/** A response's body on its way from the socket of the member to that of the client, by the system alone: nothing looks at its bytes. */
export class BodyPassing implements PassingUser {
  readonly #size: PassedSize;

  private constructor(
    private readonly request: Request,
    private readonly stream: MemberStream,
  ) {
    this.#size = new PassedSize(request.context.buffers);
  }

  /** Begins it for the rest of a body, where that is possible. */
  static begin(request: Request, stream: MemberStream): BodyPassing | undefined {
    const { bytePath } = request.stream;
    // Of a length that is known: the bytes of the body are those of the connection.
    const isPlain = request.sendsBody && !request.chunked && request.response.length >= 0;
    const isLookedAt = request.filters !== undefined || request.ranges !== undefined || request.front !== undefined;
    if (!isPlain || isLookedAt || bytePath === undefined || 'writeTunnel' in bytePath) return undefined;
    const passing = new BodyPassing(request, stream);
    return stream.passBody?.(bytePath, passing) === true ? passing : undefined;
  }

  get most(): number {
    return this.#size.bytes;
  }

  onPassed(count: number, rest: Buffer | undefined): void {
    const { request } = this;
    this.#size.adapt(count, rest === undefined);
    request.bytesSent += count - (rest?.length ?? 0);
    if (rest === undefined) return;
    this.#size.countWaiting(rest.length);
    request.stream.write(request, rest, 0, rest.length, undefined);
  }

  /** The client has consumed what was written. */
  onDrain(): void {
    this.#size.countWaiting(0);
  }

  /** The rest of the body is read. */
  end(): void {
    this.#size.countWaiting(0);
    this.stream.endPassing?.();
  }
}
