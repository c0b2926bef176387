/**
 * How reloads went, in a file beside the pid file: a signal has no response. Written when the server has received the signal, and when it is done.
 */
import { readFileSync, rmSync } from 'node:fs';
import { writeWhole } from './pid-file.js';

/** Content of the file. Signals are counted from the start of the server. */
export interface ReloadState {
  /** The process of the pid file. */
  readonly pid: number;
  readonly received: number;
  /** Signals that are finished. */
  readonly done: number;
  /** Why the last one failed, as the start would say it; empty: it did not. */
  readonly failure: string;
}

/** Only a user who may send the signal may see it: errors quote the configuration. */
const MODE = 0o600;
/** Characters of a text that another process writes into the file. */
const LONGEST = 1_048_576;

/** @throws Error of the system */
export function writeReloadFile(pidFile: string, state: Omit<ReloadState, 'pid'>): void {
  const { received, done, failure } = state;
  const text = JSON.stringify({ pid: process.pid, received, done, failure: failure.slice(0, LONGEST) });
  writeWhole(pathOf(pidFile), text, MODE);
}

/** Undefined if that process has not received a reload yet. */
export function readReloadFile(pidFile: string, pid: number): ReloadState | undefined {
  try {
    const state = JSON.parse(readFileSync(pathOf(pidFile), 'utf8')) as ReloadState;
    return state.pid === pid ? state : undefined;
  } catch {
    return undefined;
  }
}

/** A file that cannot be removed names a process that has ended. */
export function removeReloadFile(pidFile: string): void {
  try {
    rmSync(pathOf(pidFile), { force: true });
  } catch {
    return;
  }
}

function pathOf(pidFile: string): string {
  return `${pidFile}.reload`;
}
