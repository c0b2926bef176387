import type { SecureContext, SecureContextOptions } from 'node:tls';
import { commanded } from '../../../../toolkit/tls/conf-commands.js';
import type { LockedKey, PemText } from '../../../../contract/tls-context.js';
import type { TlsContextOptions } from '../../tls.js';
import { nodeTls } from './node-tls.js';
import { SessionEvents } from './session-events.js';
import { contextWithSilentAuthorities } from './silent-authorities.js';
import { keysOfNode, useTicketKeys } from './ticket-keys.js';

/** SSL_OP_NO_RENEGOTIATION: as in nginx, clients cannot make a server repeat the costly part of a handshake on one connection. */
const NO_RENEGOTIATION = 0x4000_0000;

const REVOCATION_LIST = /-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----/g;

/** Objects of Node.js for settings of TLS. */
export class NodeContext {
  readonly secure: SecureContext;
  /** Undefined: clients resume with tickets or not at all. */
  readonly sessions: SessionEvents | undefined;

  /** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  constructor(readonly options: TlsContextOptions) {
    const { sessions, sessionTimeout = 0, clientAuthority } = options;
    this.secure = contextOf(options);
    this.sessions = sessions && new SessionEvents(sessions, sessionTimeout, clientAuthority !== undefined);
  }
}

function contextOf(options: TlsContextOptions): SecureContext {
  const { trusted = [], formerTicketKeys = [] } = options;
  const settings = settingsOf(options);
  const context = trusted.length > 0 ? contextWithSilentAuthorities(settings, trusted) : nodeTls().createSecureContext(settings);
  if (settings.ticketKeys !== undefined && formerTicketKeys.length > 0)
    useTicketKeys(context, [settings.ticketKeys, ...formerTicketKeys.map(keysOfNode)]);
  return context;
}

/** As `tls.createSecureContext` takes them. */
function settingsOf({ cert, key, ca, crl, ticketKeys, commands = [], ...options }: TlsContextOptions): SecureContextOptions {
  const { honorCipherOrder, dhparam, sessionIdContext, sessionTimeout } = options;
  const { minVersion, maxVersion, ciphers, ecdhCurve, sigalgs, secureOptions } =
    commands.length > 0 ? commanded(options, commands) : options;
  return {
    ...(cert !== undefined && { cert: listOf<PemText>(cert) }),
    ...(key !== undefined && { key: listOf<PemText | LockedKey>(key) }),
    ...(ca !== undefined && { ca: listOf<PemText>(ca) }),
    ...(crl !== undefined && { crl: listOf<PemText>(crl).flatMap(revocationLists) }),
    ...(ticketKeys !== undefined && { ticketKeys: keysOfNode(ticketKeys) }),
    minVersion,
    maxVersion,
    ciphers,
    ecdhCurve,
    sigalgs,
    secureOptions: ((secureOptions ?? 0) | NO_RENEGOTIATION) >>> 0,
    honorCipherOrder,
    dhparam,
    sessionIdContext,
    sessionTimeout,
  };
}

/** Node reads the first list of a text only. */
function revocationLists(pem: PemText): readonly string[] {
  const lists = pem.toString('latin1').match(REVOCATION_LIST);
  return lists ?? [pem.toString('latin1')];
}

function listOf<T>(one: PemText | readonly T[]): (PemText | T)[] {
  return typeof one === 'string' || Buffer.isBuffer(one) ? [one] : [...one];
}
