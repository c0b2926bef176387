import { connect, isIP, type Socket } from 'node:net';
import type { ConnectionOptions, PeerCertificate, SecureContext, TLSSocket } from 'node:tls';
import type { UpstreamTls } from '../contract/upstream-tls.js';
import { depthOf } from './certificate-depth.js';
import { logKeys } from './key-log.js';
import { nodeTls } from './node-tls.js';
import type { Target } from './transport/transport.js';

/** A session, and the name that it was made for. */
interface Known {
  readonly name: string;
  readonly session: Buffer;
}

const HTTP1: readonly string[] = ['http/1.1'];

/** Makes connections to servers that speak TLS, and remembers their sessions. */
export class TlsClient {
  #context: SecureContext | undefined;
  readonly #sessions = new WeakMap<object, Known>();

  constructor(private readonly settings: UpstreamTls) {}

  /** Certificates and keys as OpenSSL has read them. Without files of one's own it is made when it is first needed. @throws Error of OpenSSL */
  get context(): SecureContext {
    // Without authorities of its own it verifies nothing, and needs none of the ones that Node brings.
    return (this.#context ??= nodeTls().createSecureContext({ ca: [], ...this.settings.context }));
  }

  /**
   * Begins to connect.
   * @param peer whose sessions are resumed
   * @param name what the certificate has to be for (proxy_ssl_name)
   * @param preamble sent in front of the handshake; empty: nothing
   */
  connect(target: Target, peer: object, name: string, preamble: string, onSecure: () => void): TLSSocket {
    const { sendsName, verifies, reusesSessions, keyLog, alpn = HTTP1 } = this.settings;
    const known = reusesSessions ? this.#sessions.get(peer) : undefined;
    const options: ConnectionOptions & { readonly allowHalfOpen: true } = {
      ...(preamble === '' ? target : { socket: withPreamble(target, preamble) }),
      allowHalfOpen: true,
      secureContext: this.context,
      ...(alpn.length > 0 && { ALPNProtocols: [...alpn] }),
      rejectUnauthorized: verifies,
      checkServerIdentity: (_, certificate) => this.#check(name, certificate),
      // An empty name keeps Node from sending another one. RFC 6066, 3: addresses are never sent.
      servername: sendsName && isIP(name) === 0 ? name : '',
    };
    if (known?.name === name) options.session = known.session;
    const socket = nodeTls().connect(options, onSecure);
    socket.setNoDelay(true);
    if (keyLog !== undefined) logKeys(socket, keyLog);
    if (reusesSessions) socket.on('session', (session: Buffer) => this.#sessions.set(peer, { name, session }));
    return socket;
  }

  #check(name: string, certificate: PeerCertificate): Error | undefined {
    if (depthOf(certificate) > this.settings.verifyDepth)
      return new Error('upstream SSL certificate verify error: (22:certificate chain too long)');
    const mismatch = nodeTls().checkServerIdentity(name, certificate);
    return mismatch && new Error(`upstream SSL certificate does not match "${name}"`);
  }
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
