import { setTimeout as sleep } from 'node:timers/promises';

/** Longest time for which an address that was left is waited for. Workers empty the queues of their sockets first (listener.ts). Milliseconds. */
export const LEAVING_MS = 5000;
const POLL_MS = 20;

/**
 * Binds an address, again and again while sockets of this very server may keep it in use.
 * @param isLeaving false: another program has the address
 * @throws Error of the system
 */
export async function bindWhenLeft(bind: () => Promise<void>, isLeaving: () => boolean): Promise<void> {
  for (; ; await sleep(POLL_MS)) {
    try {
      return await bind();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || !isLeaving()) throw error;
    }
  }
}
