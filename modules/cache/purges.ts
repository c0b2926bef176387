import { ApiError } from '../../core/contract/control.js';
import type { Channel, Channels } from '../../core/contract/channels.js';
import type { Log } from '../../core/contract/log.js';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { Storage } from '../../core/contract/storage.js';
import {
  addPurge,
  emptyList,
  forgetPurges,
  lastPurgeOf,
  MOST_MARKS,
  verdictOn,
  type Purge,
  type Purgeable,
  type PurgeList,
  type Verdict,
} from './purge-list.js';

/** Longest wait of a request for the main thread, in milliseconds. */
const LONGEST_WAIT = 5_000;

type Lists = Map<string, PurgeList>;
/** Either a purge, or the number up to which purges are done. */
type Step = { readonly zone: string } & ({ readonly purge: Purge } | { readonly done: number });
/** From a worker: a purge that a request asks for. */
interface Message {
  readonly zone: string;
  readonly request: number;
  readonly prefix: string;
}
/** Purges that workers have asked for, by their numbers there. */
interface Result {
  readonly worker: number;
  readonly request: number;
  readonly isDone: boolean;
}

/** The purges of one cache, as its files are compared with. */
export interface ZonePurges {
  /** Number of the last purge. */
  readonly last: number;
  /** Number of the first purge that is not done, or a smaller one; 0: all are done. */
  readonly first: number;
  /** Purges up to this number are done. */
  readonly done: number;
  /** Undefined: the purges are known; else to be waited for. */
  ready(): Promise<unknown> | undefined;
  verdictOn(entry: Purgeable): Verdict;
  /** Number of the last purge of a key, of a prefix of it, or of everything; 0: there is none. */
  lastOf(key: string): number;
  /** In the main thread: all purges up to a number are done. @throws (rejects) ApiError 503, 507: that cannot be kept */
  finish(number: number): Promise<void>;
}

/** Purges of all caches. The main thread orders and keeps them; workers compare stored responses with them. */
export class Purges {
  #lists: Channel<Lists, Step, Message> | undefined = undefined;
  #results: Channel<Result> | undefined = undefined;
  /** Requests of this worker that wait for a purge. */
  readonly #waiting = new Map<number, (isDone: boolean) => void>();
  #requests = 0;
  #loaded: Promise<void> | undefined = undefined;
  #onLoaded: () => void = () => undefined;

  constructor(
    private readonly channels: Channels,
    private readonly storage: Storage,
    private readonly info: Pick<ServerInfo, 'worker'>,
    private readonly log: Log,
  ) {}

  /** At the start, in every thread. In the main thread it gives the others the purges of before. */
  async start(role: string): Promise<void> {
    const { channels } = this;
    this.#lists = channels.open<Lists, Step, Message>('purges', {
      apply: applied,
      changed: () => this.#onLoaded(),
      told: (message, from) => void this.#serve(message, from),
    });
    this.#results = channels.open<Result>('results', {
      changed: ({ worker: to, request, isDone }) => {
        if (to === this.info.worker) this.#waiting.get(request)?.(isDone);
      },
    });
    if (role === 'master' && this.#lists.value === undefined) await this.#lists.publish(this.#load());
  }

  #load(): Lists {
    const lists: Lists = new Map();
    for (const [key, value] of this.storage.entries()) {
      const zone = decodeURIComponent(key.split(' ', 1)[0] ?? '');
      const list = listOf(lists, zone);
      if (key.endsWith(' done')) list.done = Number(value);
      else addPurge(list, JSON.parse(value) as Purge);
    }
    for (const list of lists.values()) list.last = Math.max(list.last, list.done);
    return lists;
  }

  of(zone: string): ZonePurges {
    const find = (): PurgeList | undefined => this.#lists?.value?.get(zone);
    return {
      get last() {
        return find()?.last ?? 0;
      },
      get first() {
        return find()?.first ?? 0;
      },
      get done() {
        return find()?.done ?? 0;
      },
      ready: () => (this.#lists?.value === undefined ? this.#whenLoaded() : undefined),
      verdictOn: (entry) => {
        const list = find();
        return list === undefined ? 'valid' : verdictOn(list, entry);
      },
      lastOf: (key) => {
        const list = find();
        return list === undefined ? 0 : lastPurgeOf(list, key);
      },
      finish: (number) => this.#finish(zone, number),
    };
  }

  /** A worker serves before the main thread's value is here. */
  #whenLoaded(): Promise<void> {
    this.#loaded ??= new Promise((resolve) => (this.#onLoaded = resolve));
    return this.#loaded;
  }

  /** In the main thread. Active in all workers, and on disk, when it resolves. @throws (rejects) ApiError 503, 507: it cannot be kept */
  async purge(zone: string, kind: Purge['kind'], text: string, isSoft: boolean): Promise<void> {
    const list = this.#lists?.value?.get(zone);
    const number = Math.max((list?.last ?? 0) + 1, Date.now());
    if ((list?.size ?? 0) >= MOST_MARKS) {
      this.log.write('warn', `cache "${zone}": more than ${MOST_MARKS} purges are under way, everything stored so far is purged`);
      await this.#add(zone, { number, kind: 'all', text: '', isSoft: false });
      await this.#finish(zone, number - 1);
    } else await this.#add(zone, { number, kind, text, isSoft });
  }

  async #add(zone: string, purge: Purge): Promise<void> {
    this.storage.write({ [keyOf(zone, purge)]: JSON.stringify(purge) });
    await this.#lists?.change({ zone, purge });
  }

  async #finish(zone: string, number: number): Promise<void> {
    const finished = this.storage
      .entries(`${encodeURIComponent(zone)} `)
      .filter(([key, value]) => !key.endsWith(' done') && (JSON.parse(value) as Purge).number <= number);
    this.storage.write({
      [`${encodeURIComponent(zone)} done`]: String(number),
      ...Object.fromEntries(finished.map(([key]) => [key, undefined])),
    });
    await this.#lists?.change({ zone, done: number });
  }

  async #serve(message: Message, worker: number): Promise<void> {
    const { zone, request, prefix } = message;
    try {
      await this.purge(zone, 'prefix', prefix, false);
      await this.#results?.publish({ worker, request, isDone: true });
    } catch (error) {
      this.log.write('error', `cache "${zone}" is not purged (${error instanceof Error ? error.message : String(error)})`);
      await this.#results?.publish({ worker, request, isDone: false });
    }
  }

  /** In a worker: purges what begins with a text. @returns false if that failed */
  purgePrefix(zone: string, prefix: string): Promise<boolean> {
    const request = ++this.#requests;
    return new Promise((resolve) => {
      const end = (isDone: boolean): void => {
        clearTimeout(limit);
        this.#waiting.delete(request);
        resolve(isDone);
      };
      const limit = setTimeout(end, LONGEST_WAIT, false);
      this.#waiting.set(request, end);
      this.#lists?.tell({ zone, request, prefix });
    });
  }
}

/** One entry for each thing that is purged, softly or not: the last purge counts. */
function keyOf(zone: string, { kind, text, isSoft }: Purge): string {
  const digest = process.getBuiltinModule('node:crypto').hash('sha256', Buffer.from(text, 'latin1'), 'hex');
  return `${encodeURIComponent(zone)} ${kind} ${isSoft ? 'soft' : 'hard'} ${digest}`;
}

function applied(lists: Lists, step: Step): Lists {
  const list = listOf(lists, step.zone);
  if ('purge' in step) addPurge(list, step.purge);
  else forgetPurges(list, step.done);
  return lists;
}

function listOf(lists: Lists, zone: string): PurgeList {
  const known = lists.get(zone);
  if (known !== undefined) return known;
  const list = emptyList();
  lists.set(zone, list);
  return list;
}

/** @throws ApiError 404 */
export function noZone(name: string): ApiError {
  return new ApiError(404, 'CacheZoneNotFound', `cache "${name}" not found`);
}
