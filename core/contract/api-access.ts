/** Access to the REST API, as the module declares it that has the directives. */
import type { Handler } from './http.js';
import type { LogFile } from './log-files.js';
import type { Directive } from './tree.js';

/** A rule of `api_limit_except`. */
export interface ApiLimit {
  /** Key of the module whose routes it is about. */
  readonly key: string;
  /** Methods that it is not about. */
  readonly methods: ReadonlySet<string>;
  /** Run in turn as in the phase `access`: a status rejects the call. */
  readonly handlers: readonly Handler[];
}

/** Scopes of a client certificate. */
export interface CertificateScopes {
  /** Its subject in the form of RFC 2253, or `sha256:` and its fingerprint. */
  readonly certificate: string;
  readonly scopes: readonly string[];
  readonly line: Directive;
}

/** Authentication that a location with the API requires. */
export interface ApiAccessSettings {
  /** Absolute path of the file of hashed tokens; undefined: tokens are not used. */
  readonly tokenFile: string | undefined;
  readonly certificates: readonly CertificateScopes[];
  readonly limits: readonly ApiLimit[];
  /** Only calls that change nothing are allowed. */
  readonly isReadOnly: boolean;
  /** Failed attempts of a client address within a time after which further ones are rejected; undefined: no limit. */
  readonly failedAttempts: { readonly count: number; readonly ms: number } | undefined;
  /** Gets a line for each call that changes something. */
  readonly auditLog: LogFile | undefined;
}
