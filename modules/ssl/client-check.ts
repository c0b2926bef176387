/** What becomes of requests without the certificate that their server wants (ssl_verify_client). */
import type { ExplainHandler } from '../../core/module/explain.js';
import { DECLINED, type Handler, type Result, type Scope } from '../../core/module/http.js';
import type { Log } from '../../core/module/services.js';
import type { clientDirectives } from '../../core/module/tls/client-verification.js';

type ClientScope = Scope<ReturnType<typeof clientDirectives>>;

/** A request without the certificate it needs: nginx's codes, which clients see as 400. */
const INVALID = 495;
const MISSING = 496;
const MISDIRECTED = 421;

/** Rejects requests on TLS connections whose certificate is not what their server wants. */
export function clientCheck(scope: ClientScope, authority: string | undefined, log: Log): Handler | undefined {
  const { ssl_verify_client: verify } = scope.conf;
  if (verify === 'off') return undefined;
  return (request) => {
    const { connection } = request;
    if (!connection.secure) return DECLINED;
    // The handshake was for another server, which trusts others.
    if (connection.clientAuthority !== authority) {
      log.write('info', 'client attempted to request the server name different from the one that was negotiated', request);
      return MISDIRECTED;
    }
    const { certificate } = connection;
    if (certificate === undefined) {
      if (verify !== 'on') return DECLINED;
      log.write('info', 'client sent no required SSL certificate', request);
      return MISSING;
    }
    if (certificate.error === undefined || verify === 'optional_no_ca') return DECLINED;
    log.write('info', `client SSL certificate verify error: (${certificate.error})`, request);
    return INVALID;
  };
}

/** A client that nobody is has no certificate: it is taken for one that has what is wanted. */
export function explainClientCheck(scope: ClientScope, authority: string | undefined, check: Handler): ExplainHandler {
  const { ssl_verify_client: verify } = scope.conf;
  return (request, notes) => {
    // Nothing of it waits.
    if (!request.connection.secure || request.connection.clientAuthority !== authority) return check(request) as Result;
    if (verify === 'on') notes.assume('ssl_verify_client: the client has a certificate that is valid');
    return DECLINED;
  };
}
