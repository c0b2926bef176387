import type { OpenDescriptors } from '../open-descriptors.js';
import type { SystemCalls } from './calls.js';

/** The most that a user without privileges may have (pipe-max-size of proc(5)). */
const SIZE = 1_048_576;

/** A pipe of one thread, through which bytes go from one socket to another without a copy (splice(2)). It is empty between two uses. */
export class SplicePipe {
  private constructor(
    private readonly calls: SystemCalls,
    private readonly output: number,
    private readonly input: number,
    /** Bytes that it holds at most. */
    readonly size: number,
  ) {}

  /** @returns undefined: the system has no descriptors left */
  static open(calls: SystemCalls, open: OpenDescriptors): SplicePipe | undefined {
    const ends = calls.createPipe();
    if (typeof ends === 'number') return undefined;
    for (const end of ends) open.add(end);
    // Beyond a limit of the user the system gives no more than its first size (pipe-user-pages-soft).
    return new SplicePipe(calls, ...ends, calls.enlargePipe(ends[1], SIZE));
  }

  /** Takes bytes out of a socket. @returns how many; 0: its end; below 0: the number of an error */
  fill(socket: number, most: number): number {
    return this.calls.splice(socket, this.input, Math.min(most, this.size));
  }

  /** Sends bytes that are in the pipe. @returns as {@link fill} */
  sendTo(socket: number, count: number): number {
    return this.calls.splice(this.output, socket, count);
  }

  /** Reads what is left in the pipe. @throws Error if it is less, which cannot be */
  take(count: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(count);
    for (let taken = 0; taken < count;) {
      const read = this.calls.receive(this.output, bytes.subarray(taken));
      if (read <= 0) throw new Error('bytes are missing in the pipe of splice()');
      taken += read;
    }
    return bytes;
  }
}
