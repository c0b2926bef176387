import { readdir, readFile } from 'node:fs/promises';
import type { Vitals } from './vitals.js';

/** The process of the data plane. */
export interface ProcessView {
  readonly pid: number;
  /** Seconds. */
  readonly uptime: number;
  /** Bytes in memory: all threads. */
  readonly rss: number;
  /** Absent: the system does not say. */
  readonly descriptors?: { readonly open: number; readonly limit: number };
  /** Workers and helpers that were started again because they had failed. */
  readonly restarts: number;
  readonly reloads: number;
}

/** How a worker uses sockets. */
export interface EventsView {
  /** `epoll` or `node`: of connections to come. */
  readonly method: string;
  /** Reads and writes of several connections are made by one call of the system. */
  readonly io_uring: boolean;
  /** Dropped events of numbers that had been given to another socket. */
  readonly stale: number;
}

export interface WorkerView extends Partial<Vitals> {
  readonly worker: number;
  /** False: it has not replied within half a second. */
  readonly responding: boolean;
  readonly connections: { readonly active: number; readonly reading: number; readonly writing: number; readonly accepted: number };
  readonly requests: number;
  readonly events?: EventsView;
}

export interface WorkersView {
  readonly process: ProcessView;
  /** The main thread. */
  readonly main: Vitals;
  readonly workers: readonly WorkerView[];
}

export async function processView(restarts: number, reloads: number): Promise<ProcessView> {
  const descriptors = await descriptorsOf();
  return {
    pid: process.pid,
    uptime: process.uptime(),
    rss: process.memoryUsage.rss(),
    ...(descriptors && { descriptors }),
    restarts,
    reloads,
  };
}

/** Undefined: there is no /proc. */
async function descriptorsOf(): Promise<ProcessView['descriptors']> {
  try {
    const [open, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'latin1')]);
    const [, limit] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? [];
    // One of them is that of the listing.
    return { open: open.length - 1, limit: limit === undefined || limit === 'unlimited' ? 0 : Number(limit) };
  } catch {
    return undefined;
  }
}
