import type { ChildProcess } from 'node:child_process';
import { systemError } from '../net/socket-error.js';
import type { HelperRights, ToHelper } from '../helper/helper-start.js';
import { ELSEWHERE, type SocketRequest } from '../net/socket-source.js';
import type { MasterParent } from './master-parent.js';

/** Helpers have numbers of their own for their sockets: each has one of an address. */
const ONLY_ONE = 0;

/** Services of the parent process for one helper. */
export class HelperAccess {
  /** Of sockets that it was given. */
  readonly #keys = new Set<string>();

  /** @param name distinguishes its sockets from those of the others */
  constructor(
    private readonly parent: MasterParent | undefined,
    private readonly name: string,
  ) {}

  get rights(): HelperRights {
    return { files: this.parent?.granted.contents ?? new Map(), asksForSockets: this.parent !== undefined };
  }

  /** Sends a socket to the helper that asks for it. */
  async send(child: ChildProcess, id: number, request: SocketRequest): Promise<void> {
    const key = this.#keyOf(request.key);
    this.#keys.add(key);
    try {
      const socket = await this.parent?.open({ ...request, key }, ONLY_ONE);
      if (socket === ELSEWHERE) throw systemError('EADDRINUSE');
      child.send({ kind: 'socket', id } satisfies ToHelper, socket?.handle, () => socket?.close());
    } catch (error) {
      const { code = String(error) } = error as NodeJS.ErrnoException;
      child.send({ kind: 'socket', id, error: code } satisfies ToHelper, () => undefined);
    }
  }

  release(key: string): void {
    this.#keys.delete(this.#keyOf(key));
    this.parent?.release(this.#keyOf(key));
  }

  /** The helper is not started again. */
  close(): void {
    for (const key of this.#keys) this.parent?.release(key);
    this.#keys.clear();
  }

  #keyOf(key: string): string {
    return `${this.name} ${key}`;
  }
}
