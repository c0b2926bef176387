import type { SecureContextOptions, SecureVersion } from 'node:tls';
import { choice, confPath, flag, number, rest, template, text } from '../args.js';
import type { BlockScope } from '../scope.js';
import type { InputFile } from '../resource.js';
import type { UpstreamTls } from './upstream-tls.js';
import { directive, type Conf, type ContextName, type Directives } from '../spec.js';

const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[];

/** How TLS is spoken with upstreams. `R` is what the traffic engine serves. @param contexts where they may stand */
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
      args: confPath(),
      doc: 'Trusted CA certificates in PEM for the verification of upstreams.',
    }),
    proxy_ssl_certificate: directive({
      in: contexts,
      args: confPath(),
      doc: 'Client certificate in PEM for the authentication to the upstream.',
    }),
    proxy_ssl_certificate_key: directive({ in: contexts, args: confPath(), doc: 'Private key in PEM of that certificate.' }),
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
    proxy_ssl_session_reuse: directive({ in: contexts, args: flag(), default: 'on', doc: 'Resumes TLS sessions with the upstream.' }),
  };
}

type TlsScope = Pick<BlockScope<Directives, string, never>, 'fail' | 'file'> & {
  readonly conf: Omit<Conf<ReturnType<typeof upstreamTlsDirectives<never>>>, 'proxy_ssl_name'>;
};

/** What the directives say. Files are read, and missing ones reported, where TLS is spoken only. */
export function upstreamTls(scope: TlsScope, isSpoken: boolean): UpstreamTls {
  const { conf } = scope;
  return {
    context: isSpoken ? contextOf(scope) : {},
    sendsName: conf.proxy_ssl_server_name,
    verifies: conf.proxy_ssl_verify,
    verifyDepth: conf.proxy_ssl_verify_depth,
    reusesSessions: conf.proxy_ssl_session_reuse,
  };
}

function contextOf(scope: TlsScope): SecureContextOptions {
  const { conf } = scope;
  const { proxy_ssl_certificate: certificate, proxy_ssl_certificate_key: key, proxy_ssl_trusted_certificate: trusted } = conf;
  if (certificate !== undefined && key === undefined) {
    scope.fail(`no "proxy_ssl_certificate_key" is defined for certificate "${certificate}"`, 'proxy_ssl_certificate');
  }
  if (conf.proxy_ssl_verify && trusted === undefined) {
    scope.fail('no proxy_ssl_trusted_certificate for proxy_ssl_verify', 'proxy_ssl_verify');
  }
  const spoken = VERSIONS.filter((version) => conf.proxy_ssl_protocols.versions.includes(version));
  return {
    minVersion: spoken[0] ?? 'TLSv1.2',
    maxVersion: spoken.at(-1) ?? 'TLSv1.3',
    ...(conf.proxy_ssl_ciphers !== 'DEFAULT' && { ciphers: conf.proxy_ssl_ciphers }),
    ...(certificate !== undefined &&
      key !== undefined && { cert: read(scope, certificate, 'proxy_ssl_certificate'), key: read(scope, key, 'proxy_ssl_certificate_key') }),
    ...(trusted !== undefined && { ca: read(scope, trusted, 'proxy_ssl_trusted_certificate') }),
  };
}

function read(scope: TlsScope, file: string, name: string): Buffer {
  return scope.file(file, bytesOf, name, (reason) => `cannot load "${name}" "${file}": ${reason}`);
}

const bytesOf = ({ bytes }: InputFile): Buffer => bytes;
