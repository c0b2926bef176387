import { EventEmitter } from 'node:events';
import type { SecureContext } from 'node:tls';
import type { TlsSessions, TlsSettings } from '../module/manifest.js';
import { nodeTls } from './node-tls.js';
import { useTicketKeys } from './ticket-keys.js';
import { alpnList, type SessionKeeper, type TlsIdentity } from './tls-identity.js';

/** Certificates and ciphers of a server, checked. */
export interface ServerTls {
  readonly settings: TlsSettings;
  readonly identity: TlsIdentity;
  /** The same for servers with `http2 on`. */
  readonly http2Identity: TlsIdentity;
}

/** What a server speaks, the one it likes best first. */
const HTTP1 = alpnList(['http/1.1', 'http/1.0']);
const HTTP2 = alpnList(['h2', 'http/1.1', 'http/1.0']);

/** Length of the id of a session of TLS 1.3 that is kept under it, in bytes. */
const SESSION_ID = 32;

/** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
export function serverTls(settings: TlsSettings): ServerTls {
  const { sessions, formerTicketKeys = [], clientAuthority, alpn, rejectsHandshake = false, handshakeTimeout: _, ...options } = settings;
  const context: SecureContext = nodeTls().createSecureContext(options);
  if (options.ticketKeys !== undefined && formerTicketKeys.length > 0) useTicketKeys(context, [options.ticketKeys, ...formerTicketKeys]);
  const identity = {
    context,
    alpn: alpn === undefined ? HTTP1 : alpnList(alpn),
    clientAuthority,
    rejects: rejectsHandshake,
    sessions: sessions && new SessionEvents(sessions, options.sessionTimeout ?? 0),
  };
  return { settings, identity, http2Identity: { ...identity, alpn: HTTP2 } };
}

/** Sessions by the events with which Node asks for them. */
class SessionEvents implements SessionKeeper {
  /** For connections whose client offers none, or one of TLS 1.2, whose id Node finds. */
  readonly #common: EventEmitter;

  /** @param timeout seconds */
  constructor(
    private readonly sessions: TlsSessions,
    private readonly timeout: number,
  ) {
    this.#common = this.#events((id) => id);
  }

  eventsFor(offered: string): EventEmitter {
    // Longer ones are tickets.
    return offered.length === SESSION_ID ? this.#events(() => offered) : this.#common;
  }

  /** @param idOf the id of the session that is looked for, from what Node takes for it */
  #events(idOf: (id: string) => string): EventEmitter {
    const events = new EventEmitter();
    events.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
      this.sessions.store(id.latin1Slice(), session, this.timeout * 1000);
      done();
    });
    events.on('resumeSession', (id: Buffer, done: (error: null, session: Buffer | null) => void) => {
      done(null, this.sessions.find(idOf(id.latin1Slice())) ?? null);
    });
    return events;
  }
}
