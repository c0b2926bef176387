import type { PassingUser } from '../connection.js';
import { Errno } from './errno.js';
import type { EpollLoop } from './loop.js';

/** Where bytes are passed to. */
interface PassingTarget {
  /** Undefined: closed. */
  readonly descriptor: number | undefined;
  /** A write goes to the system at once. */
  readonly hasRoom: boolean;
}

/** Passes on what one socket receives to another one, without reading it (splice(2)). See `Connection.passTo`. */
export class Passing {
  constructor(
    private readonly loop: EpollLoop,
    private readonly target: PassingTarget,
    private readonly user: PassingUser,
  ) {}

  /** Otherwise the bytes are read. */
  get isPossible(): boolean {
    return this.target.hasRoom && this.user.most > 0;
  }

  /** @returns how many bytes came; 0: their end; below 0: the number of an error, `Errno.InvalidArgument` if these sockets cannot do it */
  step(source: number): number {
    const { pipe } = this.loop;
    const { descriptor } = this.target;
    if (pipe === undefined || descriptor === undefined) return -Errno.InvalidArgument;
    const count = pipe.fill(source, this.user.most);
    if (count <= 0) return count;
    const sent = Math.max(pipe.sendTo(descriptor, count), 0);
    // An error is found, and reported, by the write that follows.
    this.user.onPassed(count, sent < count ? pipe.take(count - sent) : undefined);
    return count;
  }
}
