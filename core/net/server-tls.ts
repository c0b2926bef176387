import { EventEmitter } from 'node:events';
import type { SecureContextOptions } from 'node:tls';
import type { CertificateChooser, ChosenCertificates, TlsSessions, TlsSettings } from '../contract/manifest.js';
import { NodeContext } from './node-context.js';
import {
  alpnList,
  type ConnectionSessions,
  type HandshakeRejection,
  type SessionKeeper,
  type TlsIdentity,
  type VariableContexts,
} from './tls-identity.js';
import type { TlsContext } from './transport/tls.js';

/** Certificates and ciphers of a server, checked. */
export interface ServerTls {
  readonly settings: TlsSettings;
  readonly identity: TlsIdentity;
  /** The same for servers with `http2 on`. */
  readonly http2Identity: TlsIdentity;
}

/** Protocols of a server, the preferred one first. */
const HTTP1 = alpnList(['http/1.1', 'http/1.0']);
const HTTP2 = alpnList(['h2', 'http/1.1', 'http/1.0']);

/** RFC 6066, 3: unrecognized_name. */
const REJECTED: HandshakeRejection = { level: 'info', reason: 'handshake rejected', alert: 112 };
/** RFC 8446, 6.2: handshake_failure. */
const AWAITING: HandshakeRejection = {
  level: 'error',
  reason:
    'no "ssl_certificate" is defined in server listening on SSL port: "ssl_await_certificate" waits for one from the API (PUT /v1/ssl)',
  alert: 40,
};

/** Length of the id of a session of TLS 1.3 that is kept under it, in bytes. */
const SESSION_ID = 32;

/**
 * @param checks false: another thread has found that certificates, keys and ciphers can be used; contexts are made with the first handshake
 * @throws Error of OpenSSL for what cannot be used
 */
export function serverTls(settings: TlsSettings, checks: boolean): ServerTls {
  const { alpn, rejectsHandshake = false, awaitsCertificate = false, handshakeTimeout: _, certificates, ...options } = settings;
  const create = (more: SecureContextOptions): TlsContext => new NodeContext({ ...options, ...more });
  const { clientAuthority, verifyDepth = Infinity, keyLog, sessions } = options;
  const context = create({});
  if (checks) void context.node;
  const identity = {
    context,
    variable: certificates && new ChosenContexts(certificates, options.sessionIdContext ?? '', create),
    alpn: alpn === undefined ? HTTP1 : alpnList(alpn),
    clientAuthority,
    rejection: rejectsHandshake ? REJECTED : awaitsCertificate ? AWAITING : undefined,
    verifyDepth,
    keyLog,
    sessions: sessions && new SessionEvents(sessions, options.sessionTimeout ?? 0, clientAuthority !== undefined),
  };
  return { settings, identity, http2Identity: { ...identity, alpn: HTTP2 } };
}

/** One context for each certificate, as long as that is retained elsewhere. */
class ChosenContexts implements VariableContexts {
  readonly #made = new WeakMap<ChosenCertificates, TlsContext>();

  constructor(
    private readonly certificates: CertificateChooser,
    private readonly sessionIdContext: string,
    private readonly create: (options: SecureContextOptions) => TlsContext,
  ) {}

  contextFor(subject: object): TlsContext | undefined {
    const chosen = this.certificates.choose(subject);
    const made = chosen && this.#made.get(chosen);
    if (chosen === undefined || made !== undefined) return made;
    const { cert, key, digest } = chosen;
    // A session is good for the certificate that it was made with; OpenSSL takes 32 bytes.
    const context = this.create({ cert, key, sessionIdContext: `${this.sessionIdContext.slice(0, 8)}${digest.slice(0, 24)}` });
    this.#made.set(chosen, context);
    return context;
  }
}

/** Sessions by the events with which Node asks for them. */
class SessionEvents implements SessionKeeper {
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
