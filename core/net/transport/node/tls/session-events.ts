import { EventEmitter } from 'node:events';
import type { TlsSessions } from '../../../../contract/manifest.js';

/** Length of the id of a session of TLS 1.3 that is kept under it, in bytes. */
const SESSION_ID = 32;

/** The sessions of one connection. */
export interface ConnectionSessions {
  /** Something with the events `newSession` and `resumeSession` of tls.Server. */
  readonly events: EventEmitter;
  /** The handshake is over. @param isTrusted false: the certificate of the client is not valid, and its sessions must not be resumed */
  onHandshake(isTrusted: boolean): void;
}

/** Sessions by the events with which Node asks for them. */
export class SessionEvents {
  /** For connections whose client offers none, or one of TLS 1.2, whose id Node finds. */
  readonly #common: ConnectionSessions;

  /**
   * @param timeout seconds
   * @param verifies sessions are kept when the certificate of the client has been verified
   */
  constructor(
    private readonly sessions: TlsSessions,
    private readonly timeout: number,
    private readonly verifies: boolean,
  ) {
    this.#common = { events: this.#events((id) => id, this.#store), onHandshake: () => undefined };
  }

  /** @param offered the session of TLS 1.3 that the client offers: Node itself knows where TLS 1.2 has it */
  forConnection(offered: string): ConnectionSessions {
    // Longer ones are tickets.
    const isKept = offered.length === SESSION_ID;
    const idOf = isKept ? () => offered : (id: string) => id;
    if (this.verifies) return this.#verified(idOf);
    return isKept ? { events: this.#events(idOf, this.#store), onHandshake: () => undefined } : this.#common;
  }

  /** Sessions of one connection are held back until the handshake is over. */
  #verified(idOf: (id: string) => string): ConnectionSessions {
    let held: [id: string, session: Buffer][] = [];
    let isTrusted: boolean | undefined;
    const store = (id: string, session: Buffer): void => {
      if (isTrusted === undefined) held.push([id, session]);
      else if (isTrusted) this.#store(id, session);
    };
    const onHandshake = (trusted: boolean): void => {
      isTrusted = trusted;
      if (trusted) for (const [id, session] of held) this.#store(id, session);
      held = [];
    };
    return { events: this.#events(idOf, store), onHandshake };
  }

  readonly #store = (id: string, session: Buffer): void => this.sessions.store(id, session, this.timeout * 1000);

  /** @param idOf the id of the session that is looked for, from what Node takes for it */
  #events(idOf: (id: string) => string, store: (id: string, session: Buffer) => void): EventEmitter {
    const events = new EventEmitter();
    events.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
      store(id.latin1Slice(), session);
      done();
    });
    events.on('resumeSession', (id: Buffer, done: (error: null, session: Buffer | null) => void) => {
      done(null, this.sessions.find(idOf(id.latin1Slice())) ?? null);
    });
    return events;
  }
}
