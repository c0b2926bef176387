import { readFileSync } from 'node:fs';
import type { Clock } from './clock.js';
import type { Connection } from './transport/connection.js';

/** Descriptors that clients leave free: for connections to members, files and logs. Fewer where the limit is low. */
const RESERVED = 64;
const RESERVED_PART = 1 / 8;
/** How often the limit is looked at, in milliseconds: prlimit(1) changes it in a running process. */
const LOOK_MS = 1000;

/** How many descriptors clients may have. All threads share those of the process. */
export class Descriptors {
  #limit = Infinity;
  #lookedAt = -LOOK_MS;

  constructor(private readonly clock: Clock) {}

  /**
   * True if this connection has to be turned away. At the limit itself libuv would close it, and all others that wait, without telling
   * anybody. A new descriptor is the lowest free number, so its number says how many are open.
   */
  isBeyondLimit(socket: Pick<Connection, 'descriptor'>): boolean {
    const inside = socket as unknown as { readonly _handle?: { readonly fd?: number } };
    const descriptor = socket.descriptor ?? inside._handle?.fd ?? -1;
    const { now } = this.clock;
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      const limit = openFilesLimit();
      this.#limit = limit - Math.min(RESERVED, Math.floor(limit * RESERVED_PART));
    }
    return descriptor >= this.#limit;
  }
}

/** The soft limit; infinite where it cannot be found out. */
function openFilesLimit(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? Infinity);
  } catch (error) {
    // No descriptor is left to read it with; or this is another system.
    return isOutOfDescriptors(error) ? 0 : Infinity;
  }
}

/** The process, or the system, has no descriptor for a socket: nothing that the other side did. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}
