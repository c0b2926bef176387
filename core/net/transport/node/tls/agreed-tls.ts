import type { ConnectionTls } from '../../../../contract/client-connection.js';

/** Tag of the group in OpenSSL's form of a session (`SSL_SESSION_ASN1`): [19]. */
const GROUP = 0xb3;

/** Parts of a TLSSocket of Node.js. */
interface SecureSocket {
  readonly destroyed: boolean;
  readonly alpnProtocol: string | false | null;
  getProtocol(): string | null;
  getCipher(): { readonly name: string };
  getSession(): Buffer | undefined;
  isSessionReused(): boolean;
}

/** Result of a handshake: copied at its end, because the socket forgets it when it is closed. */
export class AgreedTls implements ConnectionTls {
  readonly protocol: string;
  readonly cipher: string;
  readonly isReused: boolean;
  readonly isEarly = false;
  /** Node.js does not provide them. */
  readonly signature = 0;
  readonly clientSignature = 0;
  readonly alpn: string | undefined;
  readonly group: number;
  #sessionId = '';

  constructor(
    private readonly socket: SecureSocket,
    readonly offered: ConnectionTls['offered'],
  ) {
    this.protocol = socket.getProtocol() ?? '';
    this.cipher = socket.getCipher().name;
    this.isReused = socket.isSessionReused();
    this.alpn = socket.alpnProtocol || undefined;
    const session = socket.getSession();
    this.group = session === undefined ? 0 : groupIn(session);
    if (this.isReused && session !== undefined) this.#sessionId = idIn(session);
  }

  /** That of a new session of TLS 1.3 is made with its ticket, after the handshake. */
  get sessionId(): string {
    if (this.#sessionId !== '' || this.socket.destroyed) return this.#sessionId;
    const session = this.socket.getSession();
    return (this.#sessionId = session === undefined ? '' : idIn(session));
  }
}

/** A sequence of two integers, the cipher, the id and more. */
function idIn(session: Buffer): string {
  let at = contentOf(session, 0);
  for (let skipped = 0; skipped < 3; skipped++) at = endOf(session, at);
  return session.toString('hex', contentOf(session, at), endOf(session, at));
}

/** 0: it has none. */
function groupIn(session: Buffer): number {
  for (let at = contentOf(session, 0); at < session.length; at = endOf(session, at)) {
    if (session[at] !== GROUP) continue;
    const integer = contentOf(session, at);
    const [from, to] = [contentOf(session, integer), endOf(session, integer)];
    return to > from && to - from <= 3 ? session.readUIntBE(from, to - from) : 0;
  }
  return 0;
}

/** Of a DER element (X.690, 8.1) in what OpenSSL has written: where its content begins, and where it ends. */
function contentOf(der: Buffer, at: number): number {
  const length = der[at + 1] ?? 0;
  return at + 2 + (length > 0x80 ? length - 0x80 : 0);
}

function endOf(der: Buffer, at: number): number {
  const content = contentOf(der, at);
  const length = der[at + 1] ?? 0;
  // An entry without a length ends the search.
  if (content > der.length) return der.length;
  return content + (length > 0x80 ? der.readUIntBE(at + 2, length - 0x80) : length);
}
