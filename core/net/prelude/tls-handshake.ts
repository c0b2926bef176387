import { readClientHello, type ClientHello } from '../../toolkit/client-hello.js';
import type { ConnectionTls } from '../../contract/client-connection.js';
import type { AcceptedConnection } from '../accepted-connection.js';
import type { NetContext } from '../net-context.js';
import { presentedCertificate } from '../client-certificate.js';
import type { OtherSide, SecuringUser } from '../transport/tls.js';
import type { TlsContext } from '../transport/tls-context.js';
import { acceptTls } from '../transport/transport.js';
import type { TlsIdentities, TlsIdentity } from '../tls-identity.js';
import { Prelude, type PreludeEnd } from './prelude.js';

/** First byte of a TLS handshake (RFC 8446, 5.1), and the bit by which SSLv2 began. */
const HANDSHAKE = 0x16;
const SSL2_BIT = 0x80;

/** The record of a fatal alert (RFC 5246, 7.2). */
const fatalAlert = (description: number): Buffer => Buffer.of(0x15, 3, 3, 0, 2, 2, description);

/** RFC 8446, 6.2. */
const INTERNAL_ERROR = 80;

const NO_OFFER = { ciphers: '', groups: '', signatures: '' };

/** @param hello null: it cannot be read */
function offerOf(hello: ClientHello | null): ConnectionTls['offered'] {
  return hello === null ? NO_OFFER : { ciphers: hello.ciphers, groups: hello.groups, signatures: hello.signatures };
}

/** In no name of a host. Variables of this name may be a part of the path of a certificate. */
const NO_HOST = /[\0- /\\\x7f]|\.\./;

/** In lower case; empty: there is none, or none that a host could have. */
function serverNameOf(hello: ClientHello | null): string {
  const name = hello?.serverName.toLowerCase() ?? '';
  return NO_HOST.test(name) ? '' : name;
}

/**
 * The handshake on a TLS port. It reads the host name out of the first message before OpenSSL sees it, because OpenSSL decides about
 * versions and sessions before it asks for a certificate: all of them are the settings of the server that the client requests. Bytes other
 * than a handshake pass unchanged: the engine responds to a client that uses plain HTTP.
 */
export class TlsHandshake extends Prelude implements SecuringUser {
  #held: Buffer | undefined = undefined;
  #error = '';
  /** The received bytes are a handshake. */
  #begun = false;
  #identity: TlsIdentity | undefined = undefined;

  constructor(
    connection: AcceptedConnection,
    context: NetContext,
    next: PreludeEnd,
    private readonly identities: TlsIdentities,
  ) {
    super(connection, context, next, 'while SSL handshaking');
  }

  onData(chunk: Buffer, borrowed: boolean): void {
    const own = borrowed ? Buffer.from(chunk) : chunk;
    const bytes = this.#held === undefined ? own : Buffer.concat([this.#held, own]);
    const first = bytes[0] as number;
    if (first !== HANDSHAKE && (first & SSL2_BIT) === 0) {
      this.finish(bytes);
      return;
    }
    const hello = readClientHello(bytes);
    if (hello === undefined) this.#held = bytes;
    else this.#begin(bytes, hello);
  }

  override onEnd(): void {
    const what = this.#error === '' ? 'peer closed connection in SSL handshake' : `SSL_do_handshake() failed (${this.#error})`;
    this.fail('info', `${what} while SSL handshaking`);
  }

  protected override fail(level: 'info' | 'error', reason: string | undefined): void {
    // A client that leaves, or is silent, within its first message as well; one that has sent nothing has not begun.
    if (this.#begun || this.#held !== undefined) this.identities.onHandshakeFailed(reason ?? '');
    super.fail(level, reason);
  }

  /** @param hello null: it cannot be read, which the handshake will tell */
  #begin(bytes: Buffer, hello: ClientHello | null): void {
    const { connection } = this;
    const serverName = serverNameOf(hello);
    connection.serverName = serverName || undefined;
    this.#begun = true;
    const identity = this.identities.tlsFor(serverName);
    if (identity === undefined) {
      this.fail('info', 'no certificate for the server name while SSL handshaking');
      return;
    }
    if (identity.rejection !== undefined) {
      const { level, reason, alert } = identity.rejection;
      connection.socket.write(fatalAlert(alert));
      this.fail(level, `${reason} while SSL handshaking`);
      return;
    }
    const context = this.#contextOf(identity);
    if (context === undefined) return;
    this.#identity = identity;
    try {
      const handshake = { context, received: bytes, protocols: identity.alpn, offered: offerOf(hello), session: hello?.session ?? '' };
      connection.socket = acceptTls(connection.socket, handshake, this);
    } catch (error) {
      // Made for the first handshake. That it can be was checked by another thread.
      this.#reject((error as Error).message);
    }
  }

  onSecured(tls: ConnectionTls, other: OtherSide): void {
    const { connection } = this;
    const authority = this.#identity?.clientAuthority;
    connection.secure = true;
    connection.alpn = tls.alpn;
    connection.tls = tls;
    connection.clientAuthority = authority;
    this.identities.onHandshake(tls);
    const certificate = authority === undefined ? undefined : other.certificate();
    if (authority !== undefined) connection.certificate = certificate && presentedCertificate(certificate, authority);
    this.finish(undefined);
  }

  onNotSecured(reason: string): void {
    this.#error = reason;
    this.onEnd();
  }

  /** Undefined: there is none, and the handshake has failed. */
  #contextOf({ variable, context }: TlsIdentity): TlsContext | undefined {
    const { connection } = this;
    if (variable === undefined) return context;
    let reason = 'no certificate for the server name';
    try {
      const chosen = this.identities.variableContext(variable, connection);
      if (chosen !== undefined) return chosen;
    } catch (error) {
      reason = (error as Error).message;
    }
    this.#reject(reason);
    return undefined;
  }

  #reject(reason: string): void {
    this.connection.socket.write(fatalAlert(INTERNAL_ERROR));
    this.fail('error', `${reason} while SSL handshaking`);
  }
}
