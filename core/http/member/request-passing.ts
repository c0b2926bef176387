import { PassedSize } from '../../net/passed-size.js';
import type { Connection, PassingUser } from '../../net/transport/connection.js';
import type { HttpContext } from '../request/context.js';
import type { Request } from '../request/request.js';
import type { RequestBody } from '../request/request-body.js';
import type { MemberStream } from './member-stream.js';

/** Follows a body whose bytes it does not see. */
interface PassedBodyOwner {
  onPassed(stream: MemberStream): void;
}

/** A request's body on its way from the socket of the client to that of the member, by the system alone: nothing looks at its bytes. */
export class RequestPassing implements PassingUser {
  readonly #size: PassedSize;

  private constructor(
    private readonly source: Connection,
    private readonly body: RequestBody,
    private readonly stream: MemberStream,
    private readonly context: HttpContext,
    private readonly owner: PassedBodyOwner,
  ) {
    this.#size = new PassedSize(context.buffers);
  }

  /** Begins it for the rest of a body that can be sent only once, where that is possible. */
  static begin(request: Request, stream: MemberStream, owner: PassedBodyOwner): RequestPassing | undefined {
    const { body, stream: client } = request;
    const { bytePath: source } = client;
    const target = stream.bodyPath;
    if (body === undefined || body.passable === 0 || target === undefined || source === undefined || 'writeTunnel' in source)
      return undefined;
    const passing = new RequestPassing(source, body, stream, request.context, owner);
    return source.passTo?.(target, passing) === true ? passing : undefined;
  }

  get most(): number {
    return Math.min(this.body.passable, this.#size.bytes);
  }

  onPassed(count: number, rest: Buffer | undefined): void {
    const { stream } = this;
    this.context.clock.refresh();
    this.#size.adapt(count, rest === undefined);
    this.body.skip(count);
    stream.countPassed?.(count - (rest?.length ?? 0));
    if (rest !== undefined) {
      this.#size.countWaiting(rest.length);
      stream.write(rest, undefined);
    }
    this.owner.onPassed(stream);
  }

  /** The member has consumed what was written. */
  onDrain(): void {
    this.#size.countWaiting(0);
  }

  /** The rest of the body is read. */
  end(): void {
    this.#size.countWaiting(0);
    this.source.endPassing?.();
  }
}
