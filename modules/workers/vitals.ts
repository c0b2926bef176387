import { constants, monitorEventLoopDelay, performance, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** How often the delay of the event loop is measured, and how long a window of figures is (ms). */
const RESOLUTION = 20;
export const WINDOW = 10_000;

/** Delays of the event loop beyond the time for which its timers were set. Milliseconds. */
export interface LoopDelay {
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Figures of one thread. */
export interface Vitals {
  /** Seconds since the module has started in the thread. */
  readonly uptime: number;
  /** Of the last whole window of 10 seconds; before the first is over, of that one. */
  readonly loop_delay: LoopDelay;
  /** Share of the same time in which the thread used the processor, 0 to 1. */
  readonly utilization: number;
  /** Collections since the start, all of their pauses, and the longest pause of the same time. Milliseconds. */
  readonly gc: { readonly count: number; readonly time: number; readonly max: number };
  /** Bytes. */
  readonly memory: {
    readonly heap_used: number;
    readonly heap_total: number;
    readonly heap_limit: number;
    readonly external: number;
    readonly array_buffers: number;
  };
}

/** An entry of the type `gc`. */
type GcEntry = PerformanceEntry & { readonly detail?: { readonly kind?: number } };

type WindowFigures = Pick<Vitals, 'loop_delay' | 'utilization'> & { readonly longestPause: number };

/** Measures the thread that it is in. */
export class ThreadVitals {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  readonly #pauses = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) this.#paused(entry);
  });
  readonly #startedAt = performance.now();
  #windowAt = this.#startedAt;
  #usage = process.threadCpuUsage();
  #collections = 0;
  #pauseTime = 0;
  #longestPause = 0;
  #window: WindowFigures | undefined;

  start(): void {
    this.#delays.enable();
    this.#pauses.observe({ entryTypes: ['gc'] });
  }

  stop(): void {
    this.#delays.disable();
    this.#pauses.disconnect();
  }

  /** Ends a window, and begins the next one. */
  turn(): void {
    this.#window = this.#figures();
    this.#delays.reset();
    this.#windowAt = performance.now();
    this.#usage = process.threadCpuUsage();
    this.#longestPause = 0;
  }

  read(): Vitals {
    const { loop_delay, utilization, longestPause } = this.#window ?? this.#figures();
    const { used_heap_size: used, total_heap_size: total, heap_size_limit: limit, external_memory: external } = getHeapStatistics();
    return {
      uptime: (performance.now() - this.#startedAt) / 1000,
      loop_delay,
      utilization,
      gc: { count: this.#collections, time: this.#pauseTime, max: Math.max(longestPause, this.#longestPause) },
      memory: {
        heap_used: used,
        heap_total: total,
        heap_limit: limit,
        external,
        array_buffers: process.memoryUsage().arrayBuffers,
      },
    };
  }

  #figures(): WindowFigures {
    const { count, mean, max } = this.#delays;
    const loop_delay =
      count === 0
        ? { mean: 0, p50: 0, p99: 0, max: 0 }
        : {
            mean: lateness(mean),
            p50: lateness(this.#delays.percentile(50)),
            p99: lateness(this.#delays.percentile(99)),
            max: lateness(max),
          };
    const { user, system } = process.threadCpuUsage(this.#usage);
    return {
      loop_delay,
      // Microseconds of milliseconds, both of them measured: they may differ a little.
      utilization: Math.min((user + system) / 1000 / (performance.now() - this.#windowAt), 1),
      longestPause: this.#longestPause,
    };
  }

  #paused({ duration: ms, detail }: GcEntry): void {
    // Callbacks of weak references are counted among the entries, but run after the pause.
    if (detail?.kind === constants.NODE_PERFORMANCE_GC_WEAKCB) return;
    this.#collections++;
    this.#pauseTime += ms;
    if (ms > this.#longestPause) this.#longestPause = ms;
  }
}

/** @param interval between two timers in nanoseconds */
function lateness(interval: number): number {
  return Math.max(0, interval / 1e6 - RESOLUTION);
}
