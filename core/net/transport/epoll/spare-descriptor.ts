import type { OpenDescriptors } from '../open-descriptors.js';
import { SocketKind, type SystemCalls } from './calls.js';
import { SocketFamily } from './socket-family.js';

/** Most connections that are turned away at once. */
const MOST = 256;

/**
 * A descriptor that is kept for the moment in which the process has no other: a connection that waits has to be accepted to be closed, and its
 * client would wait for a response otherwise.
 */
export class SpareDescriptor {
  #descriptor = -1;

  constructor(
    private readonly calls: SystemCalls,
    private readonly open: OpenDescriptors,
  ) {}

  /** Opens it if there is none. */
  hold(): void {
    if (this.#descriptor >= 0) return;
    this.#descriptor = this.calls.openSocket(SocketFamily.IPv4, SocketKind.Datagrams);
    if (this.#descriptor >= 0) this.open.add(this.#descriptor);
  }

  /** Accepts and closes the connections that wait at a listening socket. @returns false: another thread has the last descriptor */
  turnAway(listening: number): boolean {
    if (this.#descriptor < 0) this.hold();
    if (this.#descriptor < 0) return false;
    this.open.delete(this.#descriptor);
    this.calls.close(this.#descriptor);
    this.#descriptor = -1;
    let count = 0;
    for (; count < MOST; count++) {
      const connection = this.calls.accept(listening);
      if (connection < 0) break;
      this.calls.close(connection);
    }
    this.hold();
    return count > 0;
  }
}
