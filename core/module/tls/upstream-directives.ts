import type { SecureContextOptions } from 'node:tls';
import { choice, confPath, flag, number, rest, template, text } from '../args.js';
import type { BlockScope } from '../scope.js';
import type { InputFile } from '../resource.js';
import { commanded, VERSIONS, type CommandOptions } from './conf-commands.js';
import { passwordsIn, unlocked, type LockedKey } from './encrypted-keys.js';
import type { UpstreamTls } from './upstream-tls.js';
import { directive, type Conf, type ContextName, type Directives } from '../spec.js';

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
    proxy_ssl_password_file: directive({
      in: contexts,
      args: confPath(),
      doc: 'Passwords of that key, one in each line, which are tried in turn.',
    }),
    proxy_ssl_crl: directive({
      in: contexts,
      args: confPath(),
      doc: 'Revoked certificates in PEM, for the verification of upstreams.',
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
  const { proxy_ssl_crl: revoked } = conf;
  return {
    ...negotiation(scope),
    ...(certificate !== undefined &&
      key !== undefined && { cert: read(scope, certificate, 'proxy_ssl_certificate'), key: [openedKey(scope, key)] }),
    ...(trusted !== undefined && { ca: read(scope, trusted, 'proxy_ssl_trusted_certificate') }),
    // Without authorities nothing is compared with it.
    ...(revoked !== undefined && trusted !== undefined && conf.proxy_ssl_verify && { crl: read(scope, revoked, 'proxy_ssl_crl') }),
  };
}

/** Versions and ciphers. */
function negotiation(scope: TlsScope): CommandOptions {
  const { proxy_ssl_protocols: protocols, proxy_ssl_ciphers: ciphers, proxy_ssl_conf_command: commands } = scope.conf;
  const spoken = VERSIONS.filter((version) => protocols.versions.includes(version));
  const options: CommandOptions = { minVersion: spoken[0] ?? 'TLSv1.2', maxVersion: spoken.at(-1) ?? 'TLSv1.3' };
  if (commands.length === 0 && ciphers === 'DEFAULT') return options;
  return commanded(options, { suites: '', list: ciphers }, commands, (message) => scope.fail(message, 'proxy_ssl_conf_command'));
}

function openedKey(scope: TlsScope, path: string): Buffer | LockedKey {
  const { proxy_ssl_password_file: file } = scope.conf;
  const passwords = file === undefined ? [] : scope.file(file, passwordsIn, 'proxy_ssl_password_file');
  const key = read(scope, path, 'proxy_ssl_certificate_key');
  try {
    return unlocked(key, passwords);
  } catch (error) {
    return scope.fail(
      `cannot load certificate key "${path}": PEM_read_bio_PrivateKey() failed (${(error as Error).message})`,
      'proxy_ssl_certificate_key',
    );
  }
}

function read(scope: TlsScope, file: string, name: string): Buffer {
  return scope.file(file, bytesOf, name, (reason) => `cannot load "${name}" "${file}": ${reason}`);
}

const bytesOf = ({ bytes }: InputFile): Buffer => bytes;
