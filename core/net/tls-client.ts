import { isIP } from 'node:net';
import type { UpstreamTls } from '../contract/upstream-tls.js';
import { alpnList } from './tls-identity.js';
import type { ClientHandshake, OtherSide } from './transport/tls.js';
import { TlsContext } from './transport/tls-context.js';

/** A session, and the name that it was made for. */
interface Known {
  readonly name: string;
  readonly session: Buffer;
}

/** Beginning of errors about a certificate, in the words of nginx. */
const CERTIFICATE_PROBLEM = 'upstream SSL certificate';

/** Makes connections to servers that speak TLS, and remembers their sessions. */
export class TlsClient {
  /** Certificates and keys, which are read when they are first needed. */
  readonly context: TlsContext;
  readonly #protocols: Buffer;
  readonly #sessions = new WeakMap<object, Known>();
  readonly #groups = new WeakMap<object, number>();

  constructor(private readonly settings: UpstreamTls) {
    const { verifies, verifyDepth, reusesSessions, keyLog, alpn = [] } = settings;
    this.#protocols = alpnList(alpn);
    const client = { verifies, keepsSessions: reusesSessions };
    // Without authorities of its own it verifies nothing, and needs none of the ones that Node brings.
    this.context = new TlsContext({ ca: [], ...settings.context, verifyDepth, keyLog, client, commands: settings.commands });
  }

  /**
   * A handshake. Its result is for {@link problemOf}.
   * @param peer whose sessions are resumed
   * @param name what the certificate has to be for (proxy_ssl_name)
   */
  handshake(peer: object, name: string): ClientHandshake {
    return {
      context: this.context,
      serverName: this.#serverNameOf(name),
      protocols: this.#protocols,
      session: this.#sessionOf(peer, name),
      group: this.#groups.get(peer) ?? 0,
      onSession: (session) => this.#sessions.set(peer, { name, session }),
    };
  }

  /** A handshake with a peer has agreed on a group: the next one makes a key for that one. */
  noteGroup(peer: object, group: number): void {
    if (group !== 0 && this.#groups.get(peer) !== group) this.#groups.set(peer, group);
  }

  /** Why a connection must not be used, for the error log. Undefined: it may be. */
  problemOf(other: OtherSide, name: string): string | undefined {
    if (!this.settings.verifies) return undefined;
    const problem = other.problem();
    if (problem !== undefined) return `${CERTIFICATE_PROBLEM} verify error: (${problem})`;
    return other.isFor(name) ? undefined : `${CERTIFICATE_PROBLEM} does not match "${name}"`;
  }

  /** RFC 6066, 3: addresses are never sent. */
  #serverNameOf(name: string): string {
    return this.settings.sendsName && isIP(name) === 0 ? name : '';
  }

  #sessionOf(peer: object, name: string): Buffer | undefined {
    const known = this.settings.reusesSessions ? this.#sessions.get(peer) : undefined;
    return known?.name === name ? known.session : undefined;
  }
}

/** A handshake that has failed, in nginx's words. @param reason see {@link SecuringUser.onNotSecured} */
export function handshakeFailure(reason: string): string {
  if (reason.startsWith('SSL: ')) return `SSL_do_handshake() failed (${reason})`;
  return `peer closed connection in SSL handshake${reason === '' ? '' : ` (${reason})`}`;
}

/** Name for certificates by `proxy_ssl_name`, which may have a port, as `$proxy_host` has. */
export function hostOfName(name: string): string {
  return name.replace(/^\[([^\]]*)\].*$|^([^:]*):\d*$/s, '$1$2');
}
