import { Channels } from '../../core/contract/channels.js';
import { action, ApiError, moreTime, type ActionContext } from '../../core/contract/control.js';
import { EventMethod } from '../../core/contract/event-method.js';
import { coreModule, type Lifecycle } from '../../core/contract/manifest.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { ServerStatus } from '../../core/contract/server-status.js';
import { Statistics } from '../../core/contract/statistics.js';
import { Tasks, type Task } from '../../core/contract/tasks.js';
import { cpuProfile } from './cpu-profile.js';
import { HeapSnapshots, HeapTooLarge, type StoredHeap } from './heap-snapshots.js';
import { WorkerQuestions } from './questions.js';
import { ThreadVitals, WINDOW, type Vitals } from './vitals.js';
import { processView, type WorkersView, type WorkerView } from './workers-view.js';

/** How long a worker may take to say how it is, and longer than its seconds for a profile (ms). */
const REPLY = 500;
const PROFILE = 10_000;
/** How long a worker may take for a snapshot of its heap, and how long that waits for the client that reads it (ms). */
const HEAP = 60_000;
const HEAP_KEPT = 600_000;

interface ProfileParams {
  readonly worker: number;
  readonly seconds: number;
}

type Question =
  | { readonly kind: 'vitals' }
  | { readonly kind: 'profile'; readonly seconds: number }
  | { readonly kind: 'heap'; readonly path: string };
/** Of a worker. */
type State = Vitals & Pick<WorkerView, 'events'>;
type Reply = State | string;

/** The state of the worker threads: delay of the event loop, collections, memory, connections; CPU profiles of them. */
@coreModule({ name: 'srv_workers_module', api: '1.2', plane: 'data' })
export class Workers implements Lifecycle {
  readonly #vitals = new ThreadVitals();
  readonly #questions: WorkerQuestions<Question, Reply>;
  /** Workers that are being profiled. */
  readonly #profiled = new Set<number>();
  readonly #heaps = new HeapSnapshots();
  #heapEnds: Task | undefined;

  constructor(
    channels: Channels,
    info: ServerInfo,
    private readonly status: ServerStatus,
    private readonly statistics: Statistics,
    private readonly tasks: Tasks,
    private readonly eventMethod: EventMethod,
  ) {
    this.#questions = new WorkerQuestions<Question, Reply>(channels, info.worker, (question) => {
      if (question.kind === 'vitals') return this.#state();
      if (question.kind === 'profile') return cpuProfile(question.seconds, tasks.signal);
      // The file is readable by the user of the server alone. The worker does nothing else meanwhile.
      return process.getBuiltinModule('node:v8').writeHeapSnapshot(question.path);
    });
  }

  start(): void {
    this.#vitals.start();
    this.tasks.every(WINDOW, () => this.#vitals.turn());
  }

  async stop(): Promise<void> {
    this.#vitals.stop();
    await this.#heaps.end();
  }

  @action('workers.view')
  async view(): Promise<WorkersView> {
    const workers = [...this.status.workers()];
    const [replies, own] = await Promise.all([
      this.#questions.ask(
        { kind: 'vitals' },
        workers.map(({ index }) => index),
        REPLY,
      ),
      processView(this.status.respawned, this.status.reloads),
    ]);
    return {
      process: own,
      main: this.#vitals.read(),
      workers: workers.map(({ index, place }) => this.#viewOf(index, place, replies.get(index) as State | undefined)),
    };
  }

  /** @returns the text of a .cpuprofile */
  @action('workers.profile')
  async profile({ worker, seconds }: ProfileParams, context: ActionContext): Promise<string> {
    this.#assertWorker(worker);
    if (this.#profiled.has(worker)) throw new ApiError(409, 'ProfileRunning', `worker ${worker} is being profiled`);
    this.#profiled.add(worker);
    try {
      await moreTime(context, seconds * 1000 + PROFILE);
      const replies = await this.#questions.ask({ kind: 'profile', seconds }, [worker], seconds * 1000 + PROFILE);
      const profile = replies.get(worker);
      if (typeof profile !== 'string') throw new ApiError(503, 'WorkerUnavailable', `worker ${worker} has not replied in time`);
      return profile;
    } finally {
      this.#profiled.delete(worker);
    }
  }

  #state(): State {
    const { method, usesRing, staleEvents } = this.eventMethod;
    return { ...this.#vitals.read(), events: { method, io_uring: usesRing, stale: staleEvents } };
  }

  /** Stores a snapshot of a worker's heap, which serves nothing meanwhile. */
  @action('workers.heap')
  async heap({ worker }: Pick<ProfileParams, 'worker'>, context: ActionContext): Promise<StoredHeap> {
    this.#assertWorker(worker);
    if (!this.#heaps.reserve()) throw new ApiError(409, 'ProfileRunning', 'another heap snapshot is being made or read');
    try {
      await moreTime(context, HEAP);
      const path = await this.#heaps.begin(await this.#heapOf(worker));
      const written = await this.#questions.ask({ kind: 'heap', path }, [worker], HEAP);
      if (written.get(worker) !== path) throw new ApiError(503, 'WorkerUnavailable', `worker ${worker} has not replied in time`);
      this.#heapEnds?.cancel();
      this.#heapEnds = this.tasks.after(HEAP_KEPT, () => this.#heaps.end());
      return await this.#heaps.stored();
    } catch (error) {
      await this.#heaps.end();
      throw error instanceof HeapTooLarge ? new ApiError(503, 'WorkerUnavailable', error.message) : error;
    }
  }

  /** Bytes. */
  async #heapOf(worker: number): Promise<number> {
    const replies = await this.#questions.ask({ kind: 'vitals' }, [worker], REPLY);
    const state = replies.get(worker);
    if (typeof state !== 'object') throw new ApiError(503, 'WorkerUnavailable', `worker ${worker} does not respond`);
    return state.memory.heap_used;
  }

  /** @returns a piece of a snapshot in base64; undefined: it is gone */
  @action('workers.heap_piece')
  heapPiece({ id, at }: { readonly id: string; readonly at: number }): Promise<string | undefined> {
    return this.#heaps.read(id, at);
  }

  @action('workers.heap_end')
  heapEnd({ id }: { readonly id: string }): Promise<void> {
    return this.#heaps.end(id);
  }

  #assertWorker(worker: number): void {
    if (![...this.status.workers()].some(({ index }) => index === worker))
      throw new ApiError(404, 'WorkerNotFound', `worker ${worker} not found`);
  }

  #viewOf(worker: number, place: number, state: State | undefined): WorkerView {
    const { active, reading, writing, accepted, requests } = this.statistics.ofWorker(place);
    return { worker, responding: state !== undefined, connections: { active, reading, writing, accepted }, requests, ...state };
  }
}
