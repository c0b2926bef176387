import { readdirSync } from 'node:fs';
import { processTree, readProc } from './process-tree.js';

/** /proc counts processor time in ticks of USER_HZ, which is 100 a second on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Seconds of processor time. */
export interface CpuTime {
  readonly user: number;
  readonly system: number;
}

/** Processor time that a server has used so far: all threads of the process and of its descendants. */
export function cpuTime(pid: number): CpuTime {
  let user = 0;
  let system = 0;
  for (const stat of processTree(pid)) {
    user += stat.userTicks;
    system += stat.systemTicks;
  }
  return { user: user / TICKS_PER_SECOND, system: system / TICKS_PER_SECOND };
}

/** Processor time since `before`. */
export function usedSince(before: CpuTime, pid: number): CpuTime {
  const now = cpuTime(pid);
  return { user: now.user - before.user, system: now.system - before.system };
}

/** Seconds of user and system time together since `before`. */
export function cpuSince(before: CpuTime, pid: number): number {
  const { user, system } = usedSince(before, pid);
  return user + system;
}

/**
 * Seconds that all threads of a server have run so far, to the nanosecond: what {@link cpuTime} rounds to hundredths. Threads that have
 * ended do not count any more.
 */
export function runTime(pid: number): number {
  let nanoseconds = 0;
  for (const stat of processTree(pid)) {
    for (const thread of threadsOf(stat.pid)) {
      nanoseconds += Number(readProc(`/proc/${stat.pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0);
    }
  }
  return nanoseconds / 1e9;
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/**
 * Resident memory of a server in bytes: the process and its descendants. Pages that they share count more than once, which
 * does not matter where two readings are compared.
 */
export function residentBytes(pid: number): number {
  return bytesOf(pid, /^Rss:\s+(\d+) kB/m);
}

/** The same with pages that several processes share counted once. */
export function proportionalBytes(pid: number): number {
  return bytesOf(pid, /^Pss:\s+(\d+) kB/m);
}

function bytesOf(pid: number, line: RegExp): number {
  let kilobytes = 0;
  for (const stat of processTree(pid)) {
    // smaps_rollup counts pages; VmRSS of /proc/PID/status is kept per thread and may be late.
    const rollup = readProc(`/proc/${stat.pid}/smaps_rollup`);
    kilobytes += Number(line.exec(rollup ?? '')?.[1] ?? 0);
  }
  return kilobytes * 1024;
}
