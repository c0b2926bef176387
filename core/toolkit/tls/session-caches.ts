import type { Channel, Channels } from '../../contract/channels.js';
import type { TlsSessions } from '../../contract/manifest.js';
import type { BlockScope } from '../../contract/scope.js';
import type { ServerInfo } from '../../contract/server-info.js';
import type { Directives } from '../../contract/spec.js';
import { SessionCache } from './session-cache.js';
import { SharedSessions } from './shared-sessions.js';

type AllMemory = Map<string, SharedArrayBuffer>;

/** The memory of a cache comes, or is not needed any more. */
interface Change {
  readonly key: string;
  readonly memory: SharedArrayBuffer | undefined;
}

interface Entry {
  readonly sessions: TlsSessions;
  /** Servers that use it. */
  users: number;
}

interface CacheServices {
  readonly info: Pick<ServerInfo, 'role'>;
  readonly channels: Channels;
}

/**
 * The session caches of a module by name. The memory of a shared one is made in the main thread, which sends it to the workers: sessions outlive workers and
 * reloads. Until it arrives, right after a start, sessions are not kept.
 */
export class SessionCaches {
  readonly #shared = new Map<string, Entry>();
  readonly #builtin = new Map<number, WeakRef<SessionCache>>();
  #memory: AllMemory = new Map();
  #isStopped = false;
  #channel: Channel<AllMemory, Change> | undefined = undefined;

  constructor(private readonly services: CacheServices) {}

  start(role: ServerInfo['role']): void {
    // A control process is one thread.
    if (role === 'control') return;
    const channel = this.services.channels.open<AllMemory, Change>('session caches', { apply: applied });
    this.#channel = channel;
    if (role !== 'master') return;
    if (channel.value === undefined) void channel.publish(this.#memory);
    // Made before the start, beside an object of the module that goes.
    else for (const [key, memory] of this.#memory) if (!channel.value.has(key)) this.#apply({ key, memory });
  }

  /** Another object of the module may use the memory. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * A cache of all threads: the same name with another size is another cache.
   * @param scope the server that uses it
   * @param size bytes
   */
  shared(scope: Pick<BlockScope<Directives, string, never>, 'register'>, name: string, size: number): TlsSessions {
    const key = `${name} ${size}`;
    const entry = this.#shared.get(key) ?? { sessions: new NamedSessions(() => this.#all.get(key)), users: 0 };
    this.#shared.set(key, entry);
    const release = (uses: number): void => {
      entry.users -= uses;
      if (entry.users === 0 && this.#shared.get(key) === entry) this.#forget(key);
    };
    scope.register({
      commit: () => {
        entry.users++;
        this.#shared.set(key, entry);
        if (this.#isOwner && !this.#all.has(key)) this.#apply({ key, memory: SharedSessions.memoryOf(size) });
      },
      abort: () => release(0),
      release: () => release(1),
    });
    return entry.sessions;
  }

  /** Of this thread alone. */
  builtin(size: number): SessionCache {
    const known = this.#builtin.get(size)?.deref();
    if (known !== undefined) return known;
    const cache = new SessionCache(size);
    this.#builtin.set(size, new WeakRef(cache));
    return cache;
  }

  /** This thread makes the memory. */
  get #isOwner(): boolean {
    return this.services.info.role !== 'worker';
  }

  get #all(): AllMemory {
    return this.#channel?.value ?? this.#memory;
  }

  #forget(key: string): void {
    this.#shared.delete(key);
    if (this.#isOwner && !this.#isStopped && this.#all.has(key)) this.#apply({ key, memory: undefined });
  }

  #apply(change: Change): void {
    if (this.#channel === undefined) this.#memory = applied(this.#memory, change);
    else void this.#channel.change(change);
  }
}

/** The sessions of a cache whose memory may still be on its way. An object of its own class: settings with the same one share a context. */
class NamedSessions implements TlsSessions {
  #opened: SharedSessions | undefined = undefined;
  #memory: SharedArrayBuffer | undefined = undefined;

  constructor(private readonly memory: () => SharedArrayBuffer | undefined) {}

  store(id: string, session: Buffer, timeout: number): void {
    this.#sessions?.store(id, session, timeout);
  }

  find(id: string): Buffer | undefined {
    return this.#sessions?.find(id);
  }

  get #sessions(): SharedSessions | undefined {
    const memory = this.memory();
    if (memory !== this.#memory) {
      this.#memory = memory;
      this.#opened = memory && new SharedSessions(memory);
    }
    return this.#opened;
  }
}

function applied(all: AllMemory, { key, memory }: Change): AllMemory {
  if (memory === undefined) all.delete(key);
  else all.set(key, memory);
  return all;
}
