import type { CertificateChooser, KeyLog } from './manifest.js';
import type { TlsContextSettings } from './tls-context.js';
import type { TlsCommand } from './tls-library.js';

/** How TLS is spoken with the members of an upstream. Settings that say the same share connections and sessions. */
export interface UpstreamTls {
  /** The certificate to show, authorities to trust, versions, ciphers. */
  readonly context: TlsContextSettings;
  /** Chooses the certificate of each request or session, instead of one in `context`. A kept connection is for requests with its certificate only. */
  readonly certificates?: CertificateChooser;
  /** True if the name is sent to the member (SNI). */
  readonly sendsName: boolean;
  /** True if the member's certificate has to be valid and for the name. */
  readonly verifies: boolean;
  /** Most certificates between that of the member and a trusted one. */
  readonly verifyDepth: number;
  readonly reusesSessions: boolean;
  /** Further settings, as commands of OpenSSL. */
  readonly commands?: readonly TlsCommand[];
  /** Gets the secrets of each connection. */
  readonly keyLog?: KeyLog;
  /** Offered by ALPN. Default: none. */
  readonly alpn?: readonly string[];
}
