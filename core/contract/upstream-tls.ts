import type { SecureContextOptions } from 'node:tls';

/** How TLS is spoken with the members of an upstream. Settings that say the same share connections and sessions. */
export interface UpstreamTls {
  /** The certificate to show, authorities to trust, versions, ciphers. */
  readonly context: SecureContextOptions;
  /** Whether the name is sent to the member (SNI). */
  readonly sendsName: boolean;
  /** Whether the member's certificate has to be valid and for the name. */
  readonly verifies: boolean;
  /** Most certificates between that of the member and a trusted one. */
  readonly verifyDepth: number;
  readonly reusesSessions: boolean;
  /** Offered by ALPN. Default: HTTP/1.1. */
  readonly alpn?: readonly string[];
}
