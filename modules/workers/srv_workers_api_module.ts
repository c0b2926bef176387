import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import type { StoredHeap } from './heap-snapshots.js';
import type { WorkersView } from './workers-view.js';

const milliseconds = Type.Number({ minimum: 0, description: 'Milliseconds.' });
const bytes = Type.Integer({ minimum: 0, description: 'Bytes.' });
const count = Type.Integer({ minimum: 0 });
const vitals = {
  uptime: Type.Number({ description: 'Seconds since the thread has started, or the module in it.' }),
  loop_delay: Type.Object(
    { mean: milliseconds, p50: milliseconds, p99: milliseconds, max: milliseconds },
    { description: 'How late timers were in the last whole window of 10 seconds.' },
  ),
  utilization: Type.Number({ description: 'Share of the same time in which the thread used the processor, 0 to 1.' }),
  gc: Type.Object(
    { count, time: milliseconds, max: milliseconds },
    { description: 'Garbage collections: their number, the sum of their pauses, and the longest pause in the last 10 to 20 seconds.' },
  ),
  memory: Type.Object({ heap_used: bytes, heap_total: bytes, heap_limit: bytes, external: bytes, array_buffers: bytes }),
};

const view = {
  summary: 'Read the state of the worker threads',
  responses: {
    200: Type.Object(
      {
        process: Type.Object({
          pid: Type.Integer(),
          uptime: Type.Number({ description: 'Seconds.' }),
          rss: bytes,
          descriptors: Type.Optional(Type.Object({ open: count, limit: Type.Integer({ description: '0: unlimited.' }) })),
          restarts: count,
          reloads: count,
        }),
        main: Type.Object(vitals),
        workers: Type.Array(
          Type.Object({
            worker: count,
            responding: Type.Boolean({
              description: 'False: the worker has not replied within half a second; its other figures are absent.',
            }),
            connections: Type.Object({ active: count, reading: count, writing: count, accepted: count }),
            requests: count,
            events: Type.Optional(
              Type.Object({
                method: Type.String({ description: 'How it uses sockets, `epoll` or `node`: the directive `use`.' }),
                io_uring: Type.Boolean({ description: 'Reads and writes of several connections are made by one call of the system.' }),
                stale: Type.Integer({ minimum: 0, description: 'Events of closed sockets, which were dropped.' }),
              }),
            ),
            ...Object.fromEntries(Object.entries(vitals).map(([name, schema]) => [name, Type.Optional(schema)])),
          }),
        ),
      },
      { title: 'Workers' },
    ),
  },
  errors: DATA_PLANE_ERRORS,
} as const;

const profile = {
  summary: 'Make a CPU profile of a worker',
  scope: 'profile',
  query: Type.Object({
    seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 60, default: 10, description: 'How long the worker is profiled.' })),
  }),
  responses: { 200: Type.Unsafe<unknown>({ type: 'object', title: 'CpuProfile', additionalProperties: true }) },
  errors: [...DATA_PLANE_ERRORS, 'WorkerNotFound', 'ProfileRunning', 'WorkerUnavailable'],
} as const;

const heap = {
  summary: 'Make a snapshot of the heap of a worker, which serves nothing meanwhile',
  scope: 'profile',
  responses: { 200: Type.Unsafe<unknown>({ type: 'object', title: 'HeapSnapshot', additionalProperties: true }) },
  errors: [...DATA_PLANE_ERRORS, 'WorkerNotFound', 'ProfileRunning', 'WorkerUnavailable'],
} as const;

/** The worker threads by API: `/v1/workers`. */
@controlModule({ name: 'srv_workers_api_module', api: '1.2', key: 'workers', dataModule: 'srv_workers_module' })
export class WorkersApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', view)
  async view(call: Call<typeof view>): Promise<Reply> {
    return { status: 200, body: await this.dataPlane.call<WorkersView>('workers.view', {}, call) };
  }

  @route('POST', '/:worker/profile', profile)
  async profile(call: Call<typeof profile>): Promise<Reply> {
    const { seconds = 10 } = call.query;
    const worker = workerOf(call);
    const text = await this.dataPlane.call<string>('workers.profile', { worker, seconds }, call);
    return {
      status: 200,
      body: text,
      type: 'application/json',
      headers: { 'Content-Disposition': `attachment; filename="worker-${worker}.cpuprofile"` },
    };
  }

  @route('POST', '/:worker/heap', heap)
  async heap(call: Call<typeof heap>): Promise<Reply> {
    const worker = workerOf(call);
    const stored = await this.dataPlane.call<StoredHeap>('workers.heap', { worker }, call);
    return {
      status: 200,
      stream: this.#pieces(stored, call),
      type: 'application/json',
      headers: { 'Content-Disposition': `attachment; filename="worker-${worker}.heapsnapshot"` },
    };
  }

  async *#pieces({ id, length }: StoredHeap, call: Call<typeof heap>): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < length;) {
        const piece = await this.dataPlane.call<string | undefined>('workers.heap_piece', { id, at }, call);
        if (piece === undefined || piece === '') throw new Error('the heap snapshot is gone');
        const bytes = Buffer.from(piece, 'base64');
        at += bytes.length;
        yield bytes;
      }
    } finally {
      await this.dataPlane.call('workers.heap_end', { id }, call);
    }
  }
}

function workerOf({ params }: Pick<Call, 'params'>): number {
  const text = params['worker'] ?? '';
  return /^\d{1,4}$/.test(text) ? Number(text) : -1;
}
