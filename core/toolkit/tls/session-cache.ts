import type { TlsSessions } from '../../contract/manifest.js';

/** Memory of an entry besides its bytes. */
const OVERHEAD = 100;

interface Entry {
  readonly session: Buffer;
  /** Epoch milliseconds. */
  readonly expires: number;
}

/** Sessions of one thread by id (`builtin`). The one stored first gives way when the size is used up. */
export class SessionCache implements TlsSessions {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  /** @param size bytes */
  constructor(private readonly size: number) {}

  store(id: string, session: Buffer, timeout: number): void {
    this.#delete(id);
    this.#entries.set(id, { session, expires: Date.now() + timeout });
    this.#bytes += cost(id, session);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.size) return;
      this.#delete(oldest);
    }
  }

  find(id: string): Buffer | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || entry.expires <= Date.now() ? undefined : entry.session;
  }

  #delete(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#bytes -= cost(id, entry.session);
  }
}

const cost = (id: string, session: Buffer): number => id.length + session.length + OVERHEAD;

/** The cache for servers with tickets: clients have their sessions of TLS 1.3 in tickets, and would not look for them here. */
export function besideTickets(cache: TlsSessions): TlsSessions {
  return {
    store(id, session, timeout) {
      if (!isTls13(session)) cache.store(id, session, timeout);
    },
    find: (id) => cache.find(id),
  };
}

/** OpenSSL's form of a session: a DER sequence that begins with the integers 1 and the version of TLS. */
function isTls13(session: Buffer): boolean {
  const lengthBytes = (session[1] ?? 0) > 0x80 ? (session[1] ?? 0) - 0x80 : 0;
  return session.subarray(2 + lengthBytes, 2 + lengthBytes + 7).equals(Buffer.from([2, 1, 1, 2, 2, 3, 4]));
}
