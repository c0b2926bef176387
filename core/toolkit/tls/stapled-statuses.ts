import type { Channel, Channels } from '../../contract/channels.js';
import type { ControlPlaneGuard } from '../../contract/control-plane-guard.js';
import type { HostNames } from '../../contract/host-names.js';
import type { Log } from '../../contract/log.js';
import type { ServerInfo } from '../../contract/server-info.js';
import type { Task, Tasks } from '../../contract/tasks.js';
import type { CertificateChain, StapledStatus, TlsLibrary } from '../../contract/tls-library.js';
import { StatusRequestError, StatusRequests, type Responder } from './status-request.js';

/** Milliseconds to the next question: at most and at least after a response, and at least and at most after a failure. */
const LONGEST_REST = 3_600_000;
const SHORTEST_REST = 10_000;
const FIRST_RETRY = 10_000;
const LAST_RETRY = 300_000;
/** Questions at the same time. */
const MOST_QUESTIONS = 8;

/** A certificate whose status is fetched. */
export interface StatusSource {
  readonly certificate: CertificateChain;
  /** Its path, for the error log. */
  readonly path: string;
  readonly responder: Responder;
  /** The signature of the response is verified. */
  readonly verifies: boolean;
}

/** A response that was checked. */
interface Fetched {
  readonly response: Uint8Array;
  /** Epoch milliseconds. */
  readonly until: number;
}

/** One of them has come, or is not needed any more. */
interface Change {
  readonly key: string;
  readonly fetched: Fetched | undefined;
}

type AllFetched = Map<string, Fetched>;

/** Services of a module with stapling. */
export interface StaplingServices {
  readonly info: Pick<ServerInfo, 'role'>;
  readonly tasks: Tasks;
  readonly log: Log;
  readonly channels: Channels;
  readonly library: TlsLibrary;
  readonly names: HostNames;
  readonly guard: ControlPlaneGuard;
}

interface Entry {
  readonly key: string;
  /** Undefined: this thread does not ask. */
  source: StatusSource | undefined;
  readonly status: StapledStatus;
  /** Servers that use it. */
  users: number;
  timer: Task | undefined;
  /** Milliseconds until the next question, if this one fails. */
  retry: number;
}

/**
 * Statuses of certificates that clients get along with them (`ssl_stapling`). The main thread asks the responders, ahead of time, and sends the responses to
 * the workers: a handshake never waits, and clients get none as long as there is none.
 */
export class StapledStatuses {
  readonly #entries = new Map<string, Entry>();
  readonly #requests: StatusRequests;
  #fetched: AllFetched = new Map();
  #channel: Channel<AllFetched, Change> | undefined = undefined;
  #isStopped = false;
  #waiting: Entry[] = [];
  #running = 0;

  constructor(private readonly services: StaplingServices) {
    this.#requests = new StatusRequests(services.names, services.guard);
  }

  start(role: 'master' | 'worker' | 'control'): void {
    // A control process is one thread.
    if (role === 'control') return;
    const channel = this.services.channels.open<AllFetched, Change>('statuses of certificates', { apply: applied });
    this.#channel = channel;
    if (role === 'master' && channel.value === undefined) void channel.publish(new Map());
  }

  /** Another object of the module may use the responses. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The status of a certificate, the same object for the same key. */
  of(key: string): StapledStatus {
    return this.#entry(key).status;
  }

  /** A server uses it from now on. @param source is needed where responders are asked; the key is of everything in it */
  hold(key: string, source: StatusSource | undefined): void {
    const entry = this.#entry(key);
    entry.source = source;
    if (entry.users++ > 0 || !this.#fetches) return;
    const known = this.#all.get(key);
    if (known === undefined || known.until <= Date.now()) this.#ask(entry);
    else this.#plan(entry, restOf(known));
  }

  /** It does not any more, or has never begun to. */
  release(key: string, isHeld: boolean): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (isHeld) entry.users--;
    if (entry.users > 0) return;
    entry.timer?.cancel();
    this.#entries.delete(key);
    this.#waiting = this.#waiting.filter((one) => one !== entry);
    if (this.#fetches && !this.#isStopped && this.#all.has(key)) this.#keep({ key, fetched: undefined });
  }

  /** This thread asks the responders. */
  get #fetches(): boolean {
    return this.services.info.role !== 'worker';
  }

  get #all(): AllFetched {
    return this.#channel?.value ?? this.#fetched;
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const response = (): Uint8Array | undefined => {
      const fetched = this.#all.get(key);
      return fetched !== undefined && fetched.until > Date.now() ? fetched.response : undefined;
    };
    const entry: Entry = { key, source: undefined, status: new FetchedStatus(response), users: 0, timer: undefined, retry: FIRST_RETRY };
    this.#entries.set(key, entry);
    return entry;
  }

  #plan(entry: Entry, ms: number): void {
    if (entry.users > 0) entry.timer = this.services.tasks.after(ms, () => this.#ask(entry));
  }

  #ask(entry: Entry): void {
    this.#waiting.push(entry);
    this.#askNext();
  }

  #askNext(): void {
    if (this.#running >= MOST_QUESTIONS) return;
    const entry = this.#waiting.shift();
    if (entry === undefined) return;
    this.#running++;
    this.services.tasks.run(async (signal) => {
      try {
        await this.#fetch(entry, signal);
      } finally {
        this.#running--;
        if (!signal.aborted) this.#askNext();
      }
    });
  }

  async #fetch(entry: Entry, signal: AbortSignal): Promise<void> {
    const { source } = entry;
    const { library } = this.services;
    if (source === undefined) return;
    const { certificate, responder, verifies } = source;
    try {
      const inquiry = library.inquiryOf(certificate);
      if (inquiry === undefined) throw new Error('issuer certificate not found');
      const response = await this.#requests.ask(responder, inquiry.request, signal);
      const until = Date.now() + library.validityOf(response, certificate, verifies);
      if (entry.users === 0) return;
      const fetched = { response, until };
      this.#keep({ key: entry.key, fetched });
      entry.retry = FIRST_RETRY;
      this.#plan(entry, restOf(fetched));
    } catch (error) {
      if (signal.aborted || entry.users === 0) return;
      this.#report(source, error as Error);
      this.#plan(entry, entry.retry);
      entry.retry = Math.min(2 * entry.retry, LAST_RETRY);
    }
  }

  #keep(change: Change): void {
    if (this.#channel === undefined) this.#fetched = applied(this.#fetched, change);
    else void this.#channel.change(change);
  }

  #report({ responder, path }: StatusSource, error: Error): void {
    const peer = error instanceof StatusRequestError && error.peer !== '' ? `, peer: ${error.peer}` : '';
    const where = `responder: ${responder.name}${peer}, certificate: "${path}"`;
    this.services.log.write('error', `${error.message} while requesting certificate status, ${where}`);
  }
}

/** An object of its own class: settings with the same one share a context. */
class FetchedStatus implements StapledStatus {
  constructor(readonly response: () => Uint8Array | undefined) {}
}

/** The response of a file (`ssl_stapling_file`): clients get it as it is. */
export class StatusOfFile implements StapledStatus {
  constructor(private readonly bytes: Buffer) {}

  response(): Uint8Array {
    return this.bytes;
  }
}

function applied(all: AllFetched, { key, fetched }: Change): AllFetched {
  if (fetched === undefined) all.delete(key);
  else all.set(key, fetched);
  return all;
}

/** Well before the end, so that a responder may be away for a while. */
function restOf({ until }: Fetched): number {
  return Math.max(Math.min((until - Date.now()) / 2, LONGEST_REST), SHORTEST_REST);
}
