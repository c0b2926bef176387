import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { Distribution } from '../../core/contract/distribution.js';
import type { FigureFamily } from '../../core/contract/families.js';

/** How often a thread looks at itself. Milliseconds. */
export const LOOK = 1000;

/** Load of a thread, as it measures itself. */
export interface ThreadLoad {
  /** Longest delay of its loop since the last look. Milliseconds. */
  readonly delay: number;
  /** Processor time of the thread, since it began. Milliseconds. */
  readonly busy: number;
  /** Bytes. */
  readonly heap: number;
  readonly heapLimit: number;
  readonly external: number;
}

/** How busy this thread is. */
export class LoadMeter {
  readonly #delays = monitorEventLoopDelay({ resolution: 20 });

  constructor() {
    this.#delays.enable();
  }

  read(): ThreadLoad {
    const { used_heap_size: heap, heap_size_limit: heapLimit, external_memory: external } = getHeapStatistics();
    // The resolution of the measurement is part of each value.
    const delay = Math.max(this.#delays.max / 1e6 - 20, 0);
    this.#delays.reset();
    const { user, system } = process.threadCpuUsage();
    return { delay, busy: (user + system) / 1000, heap, heapLimit, external };
  }

  stop(): void {
    this.#delays.disable();
  }
}

interface KnownThread {
  readonly since: number;
  readonly delays: Distribution;
  load: ThreadLoad;
}

/** The load of all threads, in the main thread. */
export class ThreadLoads {
  readonly #threads = new Map<string, KnownThread>();

  take(thread: string, load: ThreadLoad): void {
    const known = this.#threads.get(thread);
    // Less than before: another thread in its place.
    if (known === undefined || load.busy < known.load.busy) {
      this.#threads.set(thread, { since: Date.now(), delays: new Distribution(), load });
    } else {
      known.load = load;
    }
    this.#threads.get(thread)!.delays.observe(Math.round(load.delay));
  }

  /** @param names of the threads there are */
  *families(names: readonly string[]): Generator<FigureFamily> {
    for (const name of this.#threads.keys()) if (!names.includes(name)) this.#threads.delete(name);
    const threads = [...this.#threads];
    const gauge = (name: string, help: string, value: (load: ThreadLoad) => number): FigureFamily => ({
      name,
      help,
      unit: 'bytes',
      kind: 'gauge',
      samples: threads.map(([thread, { load }]) => ({ labels: { thread }, value: value(load) })),
    });
    yield {
      name: 'srv_thread_busy',
      help: 'Processor time of a thread.',
      unit: 'seconds',
      kind: 'counter',
      samples: threads.map(([thread, { load, since }]) => ({ labels: { thread }, value: load.busy, createdAt: since })),
    };
    yield {
      name: 'srv_thread_loop_delay',
      help: 'Longest delay of the event loop of a thread, one value a second.',
      unit: 'seconds',
      kind: 'distribution',
      samples: threads.map(([thread, { delays, since }]) => ({ labels: { thread }, value: delays, createdAt: since })),
    };
    yield gauge('srv_thread_heap_used', 'Memory of JavaScript objects of a thread.', ({ heap }) => heap);
    yield gauge('srv_thread_heap_limit', 'Memory that JavaScript objects of a thread may take.', ({ heapLimit }) => heapLimit);
    yield gauge('srv_thread_external_memory', 'Memory of buffers of a thread.', ({ external }) => external);
  }
}
