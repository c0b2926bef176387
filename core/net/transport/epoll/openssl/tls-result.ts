import type { ConnectionTls } from '../../../../contract/client-connection.js';
import { Control, NONE, type Handle, type OpenSsl } from './library.js';
import { signatureAlgorithmOf } from './signature-algorithms.js';

/** `TLSEXT_nid_unknown`: the rest is the number of the group itself. */
const UNKNOWN_NAME = 0x1000000;

/** Numbers of groups (RFC 8446, 4.2.7) by OpenSSL's numbers of their names (openssl/obj_mac.h). */
const GROUPS: Readonly<Record<number, number>> = {
  713: 0x15,
  714: 0x16,
  415: 0x17,
  715: 0x18,
  716: 0x19,
  927: 0x1a,
  931: 0x1b,
  933: 0x1c,
  1034: 0x1d,
  1035: 0x1e,
  1126: 0x100,
  1127: 0x101,
  1128: 0x102,
  1129: 0x103,
  1130: 0x104,
};

/** Result of a handshake: copied at its end, because nothing of it is left when the connection is closed. */
export class TlsResult implements ConnectionTls {
  readonly protocol: string;
  readonly cipher: string;
  readonly isReused: boolean;
  readonly alpn: string | undefined;
  readonly group: number;
  readonly sessionId: string;
  readonly signature: number;
  readonly clientSignature: number;

  constructor(
    library: OpenSsl,
    ssl: Handle,
    readonly offered: ConnectionTls['offered'],
    /** Undefined: there is no early data. */
    private readonly early: { readonly isEarly: boolean } | undefined,
  ) {
    const { c } = library;
    this.protocol = library.name(c.SSL_get_version(ssl));
    this.cipher = library.name(c.SSL_CIPHER_get_name(c.SSL_get_current_cipher(ssl)));
    this.isReused = c.SSL_session_reused(ssl) === 1;
    this.alpn = library.protocolOf(ssl);
    this.group = groupOf(Number(c.SSL_ctrl(ssl, Control.NegotiatedGroup, 0n, NONE)));
    this.signature = signatureAlgorithmOf(library, ssl, 'own');
    this.clientSignature = signatureAlgorithmOf(library, ssl, 'other');
    this.sessionId = library.sessionIdHex(c.SSL_get_session(ssl));
  }

  get isEarly(): boolean {
    return this.early?.isEarly === true;
  }
}

function groupOf(name: number): number {
  return name >= UNKNOWN_NAME ? name - UNKNOWN_NAME : (GROUPS[name] ?? 0);
}
