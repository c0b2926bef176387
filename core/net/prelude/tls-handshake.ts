import type { Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ConnectionTls } from '../../module/http.js';
import { readClientHello, type ClientHello } from '../../module/client-hello.js';
import type { AcceptedConnection } from '../accepted-connection.js';
import type { NetContext } from '../net-context.js';
import { clientCertificate } from '../client-certificate.js';
import { nodeTls } from '../node-tls.js';
import { attach, detach } from '../socket-user.js';
import type { TlsIdentities } from '../tls-identity.js';
import { Prelude, type PreludeEnd } from './prelude.js';

/** First byte of a TLS handshake (RFC 8446, 5.1), and the bit by which SSLv2 began. */
const HANDSHAKE = 0x16;
const SSL2_BIT = 0x80;

/** The record of a fatal alert `unrecognized_name` (RFC 5246, 7.2; RFC 6066, 3). */
const UNRECOGNIZED_NAME = Buffer.of(0x15, 3, 3, 0, 2, 2, 112);

/**
 * The handshake on a TLS port. It reads the host name out of the first message before OpenSSL sees it, because OpenSSL decides about versions
 * and sessions before it asks for a certificate: all of them are those of the server that the client means. What begins no handshake passes
 * as it is: the engine tells a client that speaks plain HTTP so.
 */
export class TlsHandshake extends Prelude {
  #held: Buffer | undefined = undefined;
  #error = '';
  /** What has come is a handshake. */
  #begun = false;

  constructor(
    connection: AcceptedConnection,
    context: NetContext,
    next: PreludeEnd,
    private readonly identities: TlsIdentities,
  ) {
    super(connection, context, next, 'while SSL handshaking');
  }

  onData(chunk: Buffer): void {
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
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
    if (this.#begun) this.identities.onHandshakeFailed();
    super.fail(level, reason);
  }

  /** @param hello null: it cannot be read, which the handshake will tell */
  #begin(bytes: Buffer, hello: ClientHello | null): void {
    const { connection } = this;
    const serverName = hello?.serverName.toLowerCase() ?? '';
    const session = hello?.session ?? '';
    this.#begun = true;
    const identity = this.identities.tlsFor(serverName);
    if (identity === undefined) {
      this.fail('info', 'no certificate for the server name while SSL handshaking');
      return;
    }
    if (identity.rejects) {
      connection.socket.write(UNRECOGNIZED_NAME);
      this.fail('info', 'handshake rejected while SSL handshaking');
      return;
    }
    const raw = connection.socket;
    detach(raw);
    raw.pause();
    // The handshake reads it again.
    raw.unshift(bytes);
    const secure = new (nodeTls().TLSSocket)(raw, {
      isServer: true,
      secureContext: identity.context,
      ALPNProtocols: identity.alpn,
      requestCert: identity.clientAuthority !== undefined,
      rejectUnauthorized: false,
      // All that is asked of a server here is to emit the events of sessions.
      ...(identity.sessions === undefined ? {} : { server: identity.sessions.eventsFor(session) as Server }),
    });
    connection.socket = secure;
    connection.socket.client = this;
    attach(connection.socket);
    secure.once('error', (error) => (this.#error ||= error.message.trim()));
    secure.once('secure', () => this.#secured(secure, serverName, identity.clientAuthority));
  }

  #secured(socket: TLSSocket, serverName: string, clientAuthority: string | undefined): void {
    const { connection } = this;
    this.identities.onHandshake(socket.isSessionReused());
    // An error of TLS ends the connection also from now on, see TLSSocket in Node's lib/_tls_wrap.js.
    socket.on('_tlsError', (error: Error) => socket.destroy(error));
    connection.secure = true;
    connection.alpn = socket.alpnProtocol || undefined;
    connection.tls = agreedTls(socket);
    connection.serverName = serverName || undefined;
    connection.clientAuthority = clientAuthority;
    if (clientAuthority !== undefined) connection.certificate = clientCertificate(socket, clientAuthority);
    this.finish(undefined);
  }
}

/** The socket forgets it when it is closed. */
function agreedTls(socket: TLSSocket): ConnectionTls {
  return {
    protocol: socket.getProtocol() ?? '',
    cipher: socket.getCipher().name,
    isReused: socket.isSessionReused(),
    alpn: socket.alpnProtocol || undefined,
  };
}
