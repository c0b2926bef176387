import { Channels } from '../../core/contract/channels.js';
import { action, ApiError, moreTime, type ActionContext } from '../../core/contract/control.js';
import { EventMethod } from '../../core/contract/event-method.js';
import { coreModule, type Lifecycle } from '../../core/contract/manifest.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { ServerStatus } from '../../core/contract/server-status.js';
import { Statistics } from '../../core/contract/statistics.js';
import { Tasks } from '../../core/contract/tasks.js';
import { cpuProfile } from './cpu-profile.js';
import { WorkerQuestions } from './questions.js';
import { ThreadVitals, WINDOW, type Vitals } from './vitals.js';
import { processView, type WorkersView, type WorkerView } from './workers-view.js';

/** How long a worker may take to say how it is, and longer than its seconds for a profile (ms). */
const REPLY = 500;
const PROFILE = 10_000;

interface ProfileParams {
  readonly worker: number;
  readonly seconds: number;
}

type Question = { readonly kind: 'vitals' } | { readonly kind: 'profile'; readonly seconds: number };
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

  constructor(
    channels: Channels,
    info: ServerInfo,
    private readonly status: ServerStatus,
    private readonly statistics: Statistics,
    private readonly tasks: Tasks,
    private readonly eventMethod: EventMethod,
  ) {
    this.#questions = new WorkerQuestions<Question, Reply>(channels, info.worker, (question) =>
      question.kind === 'vitals' ? this.#state() : cpuProfile(question.seconds, tasks.signal),
    );
  }

  start(): void {
    this.#vitals.start();
    this.tasks.every(WINDOW, () => this.#vitals.turn());
  }

  stop(): void {
    this.#vitals.stop();
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
    if (![...this.status.workers()].some(({ index }) => index === worker))
      throw new ApiError(404, 'WorkerNotFound', `worker ${worker} not found`);
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
    const { method, staleEvents } = this.eventMethod;
    return { ...this.#vitals.read(), events: { method, stale: staleEvents } };
  }

  #viewOf(worker: number, place: number, state: State | undefined): WorkerView {
    const { active, reading, writing, accepted, requests } = this.statistics.ofWorker(place);
    return { worker, responding: state !== undefined, connections: { active, reading, writing, accepted }, requests, ...state };
  }
}
