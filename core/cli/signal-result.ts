import { setTimeout as sleep } from 'node:timers/promises';
import { readReloadFile, type ReloadState } from '../master/reload-file.js';
import type { ServerCommand } from './command.js';

const POLL_MS = 20;
/** Time limit until a server has seen the signal: its main thread may be busy with another change. */
const RECEIVE_MS = 15_000;
/** Time limit of a reload or an upgrade. */
const LONGEST_MS = 300_000;

/** A reload or an upgrade that was asked for. */
interface Asked {
  readonly name: 'reload' | 'upgrade';
  /** The pid file. */
  readonly file: string;
  readonly pid: number;
  readonly isAlive: () => boolean;
  /** Before the signal was sent. */
  readonly before: ReloadState | undefined;
}

/** Waits until the server has finished what began after it was asked for. Says why it failed. Returns the exit code. */
export async function signalResult({ name, file, pid, isAlive, before }: Asked, { console }: ServerCommand): Promise<number> {
  const seen = before?.received ?? 0;
  for (const start = Date.now(); ; await sleep(POLL_MS)) {
    // In this order: the last that a process does is to say how the reload went.
    const isGone = !isAlive();
    const state = readReloadFile(file, pid);
    if (state !== undefined && state.done > seen) {
      console.repeat(state.failure);
      return state.failure === '' ? 0 : 1;
    }
    const isReceived = state !== undefined && state.received > seen;
    const problem = isGone ? `ended before the ${name} was finished` : delay(name, isReceived, Date.now() - start);
    if (problem === '') continue;
    console.complain('error', `the server (process ${pid}) ${problem}`);
    console.advise(`its error log says how the ${name} goes`);
    return 1;
  }
}

/** Empty: it is not late yet. */
function delay(name: string, isReceived: boolean, passed: number): string {
  if (!isReceived) return passed < RECEIVE_MS ? '' : `has said nothing of the ${name} in ${RECEIVE_MS / 1000} s`;
  return passed < LONGEST_MS ? '' : `has not finished the ${name} in ${LONGEST_MS / 1000} s`;
}
