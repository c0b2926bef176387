import type { SecureContext } from 'node:tls';
import type { TlsSettings } from '../../module/manifest.js';
import { nodeTls } from '../../net/node-tls.js';
import { alpnList, type TlsIdentity } from '../../net/tls-identity.js';

/** Certificates and ciphers of a server, checked. */
export interface ServerTls {
  readonly settings: TlsSettings;
  readonly identity: TlsIdentity;
}

/** What a server speaks, the one it likes best first. */
const PROTOCOLS = alpnList(['http/1.1', 'http/1.0']);

/** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
export function serverTls(settings: TlsSettings): ServerTls {
  const context: SecureContext = nodeTls().createSecureContext(settings);
  return { settings, identity: { context, alpn: PROTOCOLS, sessions: undefined } };
}
