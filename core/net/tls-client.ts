import { connect, isIP, type Socket } from 'node:net';
import type { ConnectionOptions, PeerCertificate, TLSSocket } from 'node:tls';
import type { UpstreamTls } from '../contract/upstream-tls.js';
import { depthOf } from './certificate-depth.js';
import { logKeys } from './key-log.js';
import { NodeContext } from './node-context.js';
import { nodeTls } from './node-tls.js';
import { alpnList } from './tls-identity.js';
import type { ClientHandshake, OtherSide, TlsContext } from './transport/tls.js';
import type { Target } from './transport/transport.js';

/** A session, and the name that it was made for. */
interface Known {
  readonly name: string;
  readonly session: Buffer;
}

const HTTP1: readonly string[] = ['http/1.1'];

/** Beginning of errors about a certificate, in the words of nginx. */
export const CERTIFICATE_PROBLEM = 'upstream SSL certificate';

/** Makes connections to servers that speak TLS, and remembers their sessions. */
export class TlsClient {
  /** Certificates and keys, which are read when they are first needed. */
  readonly context: TlsContext;
  readonly #alpn: readonly string[];
  readonly #protocols: Buffer;
  readonly #sessions = new WeakMap<object, Known>();
  readonly #groups = new WeakMap<object, number>();

  constructor(private readonly settings: UpstreamTls) {
    const { verifies, verifyDepth, reusesSessions, keyLog, alpn = HTTP1 } = settings;
    this.#alpn = alpn;
    this.#protocols = alpnList(alpn);
    const client = { verifies, keepsSessions: reusesSessions };
    // Without authorities of its own it verifies nothing, and needs none of the ones that Node brings.
    this.context = new NodeContext({ ca: [], ...settings.context, verifyDepth, keyLog, client, commands: settings.commands });
  }

  /**
   * A handshake by the functions of the transport. Its result is for {@link problemOf}.
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
    return other.isFor(name) ? undefined : mismatchOf(name);
  }

  /**
   * Begins to connect, with sockets of Node.js.
   * @param peer whose sessions are resumed
   * @param name what the certificate has to be for (proxy_ssl_name)
   * @param preamble sent in front of the handshake; empty: nothing
   */
  connect(target: Target, peer: object, name: string, preamble: string, onSecure: () => void): TLSSocket {
    const { verifies, reusesSessions, keyLog } = this.settings;
    const session = this.#sessionOf(peer, name);
    const options: ConnectionOptions & { readonly allowHalfOpen: true } = {
      ...(preamble === '' ? target : { socket: withPreamble(target, preamble) }),
      allowHalfOpen: true,
      secureContext: this.context.node,
      ...(this.#alpn.length > 0 && { ALPNProtocols: [...this.#alpn] }),
      rejectUnauthorized: verifies,
      checkServerIdentity: (_, certificate) => this.#check(name, certificate),
      // An empty name keeps Node from sending another one.
      servername: this.#serverNameOf(name),
    };
    if (session !== undefined) options.session = session;
    const socket = nodeTls().connect(options, onSecure);
    socket.setNoDelay(true);
    if (keyLog !== undefined) logKeys(socket, keyLog);
    if (reusesSessions) socket.on('session', (made: Buffer) => this.#sessions.set(peer, { name, session: made }));
    return socket;
  }

  /** RFC 6066, 3: addresses are never sent. */
  #serverNameOf(name: string): string {
    return this.settings.sendsName && isIP(name) === 0 ? name : '';
  }

  #sessionOf(peer: object, name: string): Buffer | undefined {
    const known = this.settings.reusesSessions ? this.#sessions.get(peer) : undefined;
    return known?.name === name ? known.session : undefined;
  }

  #check(name: string, certificate: PeerCertificate): Error | undefined {
    if (depthOf(certificate) > this.settings.verifyDepth)
      return new Error(`${CERTIFICATE_PROBLEM} verify error: (22:certificate chain too long)`);
    const mismatch = nodeTls().checkServerIdentity(name, certificate);
    return mismatch && new Error(mismatchOf(name));
  }
}

function mismatchOf(name: string): string {
  return `${CERTIFICATE_PROBLEM} does not match "${name}"`;
}

/** Name for certificates by `proxy_ssl_name`, which may have a port, as `$proxy_host` has. */
export function hostOfName(name: string): string {
  return name.replace(/^\[([^\]]*)\].*$|^([^:]*):\d*$/s, '$1$2');
}

/** A connection that begins with some text. TLS, which is wrapped around it, begins when it is connected as well: after that. */
function withPreamble(target: Target, preamble: string): Socket {
  const socket = connect({ ...target, allowHalfOpen: true, noDelay: true });
  socket.once('connect', () => socket.write(preamble, 'latin1'));
  return socket;
}
