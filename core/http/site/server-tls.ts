import { EventEmitter } from 'node:events';
import type { SecureContext } from 'node:tls';
import type { TlsSessions, TlsSettings } from '../../module/manifest.js';
import { nodeTls } from '../../net/node-tls.js';
import { alpnList, type TlsIdentity } from '../../net/tls-identity.js';

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

/** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
export function serverTls(settings: TlsSettings): ServerTls {
  const { sessions, ...options } = settings;
  const context: SecureContext = nodeTls().createSecureContext(options);
  const identity = { context, alpn: HTTP1, sessions: sessions && sessionEvents(sessions, options.sessionTimeout ?? 0) };
  return { settings, identity, http2Identity: { ...identity, alpn: HTTP2 } };
}

/** The events by which Node asks for sessions. @param timeout seconds */
function sessionEvents(sessions: TlsSessions, timeout: number): EventEmitter {
  const events = new EventEmitter();
  events.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
    sessions.store(id.latin1Slice(), session, timeout * 1000);
    done();
  });
  events.on('resumeSession', (id: Buffer, done: (error: null, session: Buffer | null) => void) => {
    done(null, sessions.find(id.latin1Slice()) ?? null);
  });
  return events;
}
