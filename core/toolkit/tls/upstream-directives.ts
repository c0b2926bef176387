import { choice, confPath, flag, number, path, rest, template, text } from '../../contract/args.js';
import { file, type ConfFile } from '../../contract/file.js';
import type { BlockScope } from '../../contract/scope.js';
import type { LogFiles } from '../../contract/log-files.js';
import type { ServerInfo } from '../../contract/server-info.js';
import type { LockedKey, TlsContextSettings } from '../../contract/tls-context.js';
import type { TlsCommand, TlsLibrary } from '../../contract/tls-library.js';
import { CACHE_ARGUMENTS, CertificateCache, cacheOptions } from './certificate-cache.js';
import { problemOf, SUITES, VERSIONS, withPath, type CommandOptions } from './conf-commands.js';
import { digestOf } from './digest.js';
import { openKeyLog } from './key-log-file.js';
import { assertPasswords, passwordsIn, unlocked } from './encrypted-keys.js';
import { NegotiationCheck } from './negotiation-check.js';
import { EqualTexts, isVariable, pemSource } from './pem.js';
import { authoritiesIn, readChecked, revocationListsIn } from './pem-files.js';
import type { UpstreamTls } from '../../contract/upstream-tls.js';
import { VariableCertificates, type SourcePair } from './variable-certificates.js';
import { directive, type Conf, type ContextName, type Directives } from '../../contract/spec.js';

/** How TLS is spoken with upstreams. `R` is what the traffic engine serves. @param contexts where they are allowed */
export function upstreamTlsDirectives<R>(contexts: readonly ContextName[]) {
  return {
    proxy_ssl_name: directive({
      in: contexts,
      args: template<R>('name'),
      doc: 'Server name to verify in the certificate of the upstream, and to send by SNI. Default: $proxy_host.',
    }),
    proxy_ssl_server_name: directive({ in: contexts, args: flag(), default: 'off', doc: 'Sends the server name to the upstream (SNI).' }),
    proxy_ssl_verify: directive({ in: contexts, args: flag(), default: 'off', doc: 'Verifies the certificate of the upstream.' }),
    proxy_ssl_verify_depth: directive({
      in: contexts,
      args: number(),
      default: '1',
      doc: 'Verification depth of the certificate chain of the upstream.',
    }),
    proxy_ssl_trusted_certificate: directive({
      in: contexts,
      args: file(authoritiesIn),
      doc: 'Trusted CA certificates in PEM for the verification of upstreams.',
    }),
    proxy_ssl_certificate: directive({
      in: contexts,
      args: pemSource<R>(),
      doc: 'Client certificate in PEM for the authentication to the upstream. With variables it is loaded for each request or session, see proxy_ssl_certificate_cache; a kept connection is used for requests with its certificate only. If the value is empty, no certificate is sent; if it cannot be loaded, the response is 500.',
    }),
    proxy_ssl_certificate_key: directive({
      in: contexts,
      args: pemSource<R>(),
      doc: 'Private key in PEM of that certificate, with or without variables.',
    }),
    proxy_ssl_certificate_cache: directive({
      in: contexts,
      args: CACHE_ARGUMENTS,
      default: 'off',
      doc: 'Caches client certificates and keys whose names have variables: max files; one that is not used for the time of inactive (default 10s) is removed; one is checked for changes after the time of valid (default 60s).',
    }),
    proxy_ssl_password_file: directive({
      in: contexts,
      args: confPath(),
      doc: 'Passwords of that key, one in each line, which are tried in turn.',
    }),
    proxy_ssl_crl: directive({
      in: contexts,
      args: file(revocationListsIn),
      doc: 'Lists of revoked certificates in PEM, one for each authority, for the verification of upstreams.',
    }),
    proxy_ssl_conf_command: directive({
      in: contexts,
      args: { command: text('name'), value: text('value') },
      many: true,
      doc: 'Sets an option of OpenSSL, as ssl_conf_command does.',
    }),
    proxy_ssl_protocols: directive({
      in: contexts,
      args: { versions: rest(choice('SSLv2', 'SSLv3', ...VERSIONS)) },
      default: 'TLSv1.2 TLSv1.3',
      doc: 'TLS versions for connections to the upstream.',
    }),
    proxy_ssl_ciphers: directive({
      in: contexts,
      args: text('ciphers'),
      default: 'DEFAULT',
      doc: 'Ciphers up to TLS 1.2, in the form of OpenSSL.',
    }),
    proxy_ssl_alpn: directive({
      in: contexts,
      args: { protocols: rest(text('protocol')) },
      doc: 'Protocols that are offered to the upstream by ALPN.',
    }),
    proxy_ssl_key_log: directive({
      in: contexts,
      args: path(),
      doc: 'File that gets the secrets of each connection to the upstream, as ssl_key_log does.',
    }),
    proxy_ssl_session_reuse: directive({ in: contexts, args: flag(), default: 'on', doc: 'Resumes TLS sessions with the upstream.' }),
  };
}

type TlsScope<R> = Pick<BlockScope<Directives, string, never>, 'fail' | 'file' | 'register' | 'args'> & {
  readonly conf: Omit<Conf<ReturnType<typeof upstreamTlsDirectives<R>>>, 'proxy_ssl_name'>;
};

/** The TLS settings of the places of one traffic engine that pass requests or sessions on. */
export class UpstreamTlsSettings<R extends object> {
  readonly #texts = new EqualTexts();
  readonly #check: NegotiationCheck;
  /** By the line that says it: what inherits it shares the cache. */
  readonly #caches = new WeakMap<object, CertificateCache>();

  constructor(
    private readonly files: LogFiles,
    private readonly library: TlsLibrary,
    private readonly info: Pick<ServerInfo, 'role'>,
  ) {
    this.#check = new NegotiationCheck(library);
  }

  /** Values of the directives. Files are read, and missing ones reported, only where TLS is used. */
  of(scope: TlsScope<R>, isSpoken: boolean): UpstreamTls {
    const cache = this.#cache(scope);
    const { conf } = scope;
    const { proxy_ssl_key_log: keyLog } = conf;
    const commands = isSpoken ? this.#commands(scope) : [];
    if (isSpoken) this.#assertCiphers(scope);
    return {
      ...(isSpoken ? this.#certificates(scope, cache) : { context: {} }),
      ...(isSpoken && keyLog !== undefined && { keyLog: openKeyLog(scope, this.files, keyLog, 'proxy_ssl_key_log') }),
      sendsName: conf.proxy_ssl_server_name,
      verifies: conf.proxy_ssl_verify,
      verifyDepth: conf.proxy_ssl_verify_depth,
      reusesSessions: conf.proxy_ssl_session_reuse,
      ...(commands.length > 0 && { commands }),
      ...(conf.proxy_ssl_alpn && { alpn: conf.proxy_ssl_alpn.protocols }),
    };
  }

  #assertCiphers(scope: TlsScope<R>): void {
    const problem = this.info.role === 'worker' ? undefined : this.#check.ofCiphers(scope.conf.proxy_ssl_ciphers);
    if (problem !== undefined) scope.fail(problem, 'proxy_ssl_ciphers', 'names of ciphers: openssl ciphers');
  }

  #commands(scope: TlsScope<R>): readonly TlsCommand[] {
    return scope.conf.proxy_ssl_conf_command.map((written) => {
      const command = withPath(written, (path) => scope.args.path(path, 'conf'));
      const problem = this.info.role === 'worker' ? undefined : problemOf(command, this.library);
      return problem === undefined ? command : scope.fail(problem, 'proxy_ssl_conf_command');
    });
  }

  #certificates(scope: TlsScope<R>, cache: CertificateCache): Pick<UpstreamTls, 'context' | 'certificates'> {
    const { proxy_ssl_certificate: cert, proxy_ssl_certificate_key: key } = scope.conf;
    if (cert !== undefined && key === undefined) {
      scope.fail(`no "proxy_ssl_certificate_key" is defined for certificate "${cert.path}"`, 'proxy_ssl_certificate');
    }
    const context = contextOf(scope);
    if (cert === undefined || key === undefined) return { context };
    if (!isVariable(cert, key))
      return { context: { ...context, cert: read(scope, cert, 'proxy_ssl_certificate'), key: [openedKey(scope, key)] } };
    const sources: SourcePair<R> = {
      cert: cert.variable ?? this.#one(read(scope, cert, 'proxy_ssl_certificate')),
      key: key.variable ?? this.#one(read(scope, key, 'proxy_ssl_certificate_key')),
    };
    return { context, certificates: new VariableCertificates([sources], cache, this.#texts, passwordsOf(scope)) };
  }

  #cache(scope: TlsScope<R>): CertificateCache {
    const { proxy_ssl_certificate_cache: line } = scope.conf;
    const known = this.#caches.get(line);
    if (known !== undefined) return known;
    const options = cacheOptions(line, (message) => scope.fail(`"proxy_ssl_certificate_cache" ${message}`, 'proxy_ssl_certificate_cache'));
    const cache = new CertificateCache(options);
    this.#caches.set(line, cache);
    return cache;
  }

  #one(bytes: Buffer): Buffer {
    return this.#texts.one(bytes, digestOf([bytes]));
  }
}

/** All but the certificate to show. */
function contextOf(scope: TlsScope<never>): TlsContextSettings {
  const { conf } = scope;
  const { proxy_ssl_trusted_certificate: trusted } = conf;
  if (conf.proxy_ssl_verify && trusted === undefined) {
    scope.fail('no proxy_ssl_trusted_certificate for proxy_ssl_verify', 'proxy_ssl_verify');
  }
  const { proxy_ssl_crl: crl } = conf;
  const revoked = crl && readChecked(scope, crl, 'CRL', 'proxy_ssl_crl');
  return {
    ...negotiation(scope),
    ...(trusted !== undefined && { ca: readChecked(scope, trusted, 'certificate', 'proxy_ssl_trusted_certificate') }),
    // Without authorities nothing is compared with it.
    ...(revoked !== undefined && trusted !== undefined && conf.proxy_ssl_verify && { crl: revoked }),
  };
}

/** Versions and ciphers. */
function negotiation(scope: TlsScope<never>): CommandOptions {
  const { proxy_ssl_protocols: protocols, proxy_ssl_ciphers: ciphers } = scope.conf;
  const spoken = VERSIONS.filter((version) => protocols.versions.includes(version));
  const options = { minVersion: spoken[0] ?? 'TLSv1.2', maxVersion: spoken.at(-1) ?? 'TLSv1.3' } as const;
  return ciphers === 'DEFAULT' ? options : { ...options, ciphers: `${SUITES}:${ciphers}` };
}

function passwordsOf(scope: TlsScope<never>): readonly string[] {
  const { proxy_ssl_password_file: path } = scope.conf;
  return path === undefined ? [] : scope.file(path, passwordsIn, 'proxy_ssl_password_file');
}

function openedKey(scope: TlsScope<never>, source: ConfFile<Buffer>): Buffer | LockedKey {
  const key = read(scope, source, 'proxy_ssl_certificate_key');
  const passwords = passwordsOf(scope);
  assertPasswords(scope, key, passwords, { path: source.path, place: 'proxy_ssl_certificate_key', file: 'proxy_ssl_password_file' });
  try {
    return unlocked(key, passwords);
  } catch (error) {
    return scope.fail(
      `cannot load certificate key "${source.path}": PEM_read_bio_PrivateKey() failed (${(error as Error).message})`,
      'proxy_ssl_certificate_key',
    );
  }
}

function read(scope: TlsScope<never>, pem: ConfFile<Buffer>, name: string): Buffer {
  return pem.in(scope, name, (reason) => `cannot load "${name}" "${pem.path}": ${reason}`);
}
