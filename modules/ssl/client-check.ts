/** Treatment of requests without the certificate that their server requires (ssl_verify_client). */
import type { ExplainHandler } from '../../core/contract/explain.js';
import { DECLINED, type Handler, type Result, type Scope } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { isAccepted, type clientDirectives } from '../../core/toolkit/tls/client-verification.js';

type ClientScope = Scope<ReturnType<typeof clientDirectives>>;

/** A request without the certificate it needs: nginx's codes, which clients see as 400. */
const INVALID = 495;
const MISSING = 496;
const MISDIRECTED = 421;

/** Certificates that a server requests of clients. */
interface Asked {
  /** See {@link TlsSettings.clientAuthority}. */
  readonly authority: string | undefined;
  /** False: the server has no certificates, and the handshake of another one asks clients for what that wants. */
  readonly hasHandshake: boolean;
}

/** Rejects requests on TLS connections whose certificate is not what their server wants. */
export function clientCheck(scope: ClientScope, { authority, hasHandshake }: Asked, log: Log): Handler | undefined {
  const { ssl_verify_client: verify } = scope.conf;
  if (verify === 'off') return undefined;
  return (request) => {
    const { connection } = request;
    if (!connection.secure) return DECLINED;
    // The handshake was for another server, which trusts other authorities. If it requested no certificate, there is nothing to confuse.
    const isUnasked = connection.clientAuthority === undefined && !hasHandshake;
    if (connection.clientAuthority !== authority && !isUnasked) {
      log.write('info', 'client attempted to request the server name different from the one that was negotiated', request);
      return MISDIRECTED;
    }
    const { certificate } = connection;
    if (certificate === undefined) {
      if (verify !== 'on') return DECLINED;
      log.write('info', 'client sent no required SSL certificate', request);
      return MISSING;
    }
    if (isAccepted(certificate, verify)) return DECLINED;
    log.write('info', `client SSL certificate verify error: (${certificate.error ?? ''})`, request);
    return INVALID;
  };
}

/** An explained request has no certificate: it is treated as a client with a valid one. */
export function explainClientCheck(scope: ClientScope, authority: string | undefined, check: Handler): ExplainHandler {
  const { ssl_verify_client: verify } = scope.conf;
  return (request, notes) => {
    // Nothing of it waits.
    if (!request.connection.secure || request.connection.clientAuthority !== authority) return check(request) as Result;
    if (verify === 'on') notes.assume('ssl_verify_client: the client has a certificate that is valid');
    return DECLINED;
  };
}
