import type { SecureContextOptions, SecureVersion } from 'node:tls';
import { choice, confPath, flag, rest, size, text, time } from '../core/module/args.js';
import type { Scope } from '../core/module/http.js';
import type { InputFile } from '../core/module/resource.js';
import { httpModule, type TlsSettings } from '../core/module/manifest.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';

const IN = ['http', 'server'] as const;
const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[];

/** Smaller ones hold no session: eight pages of memory. */
const LEAST_CACHE = 32 * 1024;

function sessionCache(): ArgType<string> {
  return {
    kind: 'text',
    form: 'off | none | builtin[:size] | shared:name:size',
    parse(value) {
      if (/^(?:off|none|builtin(?::\d+)?)$/.test(value)) return value;
      const [, amount, unit = ''] = /^shared:[^:]+:(\d{1,9})([km]?)$/i.exec(value) ?? [];
      if (amount === undefined) throw new ArgError(`invalid session cache "${value}"`, 'a cache is written like shared:SSL:10m');
      const bytes = Number(amount) * { '': 1, k: 1024, m: 1024 ** 2 }[unit.toLowerCase() as '' | 'k' | 'm'];
      if (bytes < LEAST_CACHE) throw new ArgError(`session cache "${value}" is too small`, 'it is 32k at least');
      return value;
    },
  };
}

const directives = {
  ssl_certificate: directive({
    in: IN,
    args: confPath(),
    many: true,
    doc: 'Certificate chain in PEM; several for keys of different kinds.',
  }),
  ssl_certificate_key: directive({ in: IN, args: confPath(), many: true, doc: 'Private key in PEM, in the order of the certificates.' }),
  ssl_protocols: directive({
    in: IN,
    args: { versions: rest(choice('SSLv2', 'SSLv3', ...VERSIONS)) },
    default: 'TLSv1.2 TLSv1.3',
    doc: 'Versions of TLS that are spoken.',
  }),
  ssl_ciphers: directive({
    in: IN,
    args: text('ciphers'),
    default: 'HIGH:!aNULL:!MD5',
    doc: 'Ciphers up to TLS 1.2, in the form of OpenSSL.',
  }),
  ssl_prefer_server_ciphers: directive({ in: IN, args: flag(), default: 'off', doc: "Whether the server's order of ciphers decides." }),
  ssl_ecdh_curve: directive({ in: IN, args: text('curve'), default: 'auto', doc: 'Curves for the key exchange.' }),
  ssl_session_timeout: directive({ in: IN, args: time({ calendar: true }), default: '5m', doc: 'How long a session may be resumed.' }),
  ssl_session_cache: directive({
    in: IN,
    args: { words: rest(sessionCache()) },
    doc: 'Accepted: sessions are resumed by tickets.',
  }),
  ssl_session_tickets: directive({ in: IN, args: flag(), default: 'on', doc: 'Whether sessions are resumed.' }),
  ssl_buffer_size: directive({ in: IN, args: size(), doc: 'Accepted; has no effect.' }),
};

/** SSL_OP_CIPHER_SERVER_PREFERENCE is an option of its own in Node; this one is SSL_OP_NO_TICKET of OpenSSL. */
const NO_TICKET = 0x4000;

/** TLS for servers (ngx_http_ssl_module): certificates, versions, ciphers. Client certificates and OCSP come with the HTTP directives in full. */
@httpModule({
  name: 'srv_http_ssl_module',
  api: 1,
  directives,
})
export class Ssl {
  compileTls(scope: Scope<typeof directives>): TlsSettings | undefined {
    const { conf } = scope;
    if (conf.ssl_certificate.length === 0) return undefined;
    if (conf.ssl_certificate_key.length !== conf.ssl_certificate.length) {
      const missing = conf.ssl_certificate[conf.ssl_certificate_key.length] ?? '';
      return scope.fail(
        `no "ssl_certificate_key" is defined for certificate "${missing}"`,
        'ssl_certificate',
        'every ssl_certificate needs its ssl_certificate_key',
      );
    }
    const settings: SecureContextOptions = {
      cert: conf.ssl_certificate.map((file) => read(scope, file, 'ssl_certificate')),
      key: conf.ssl_certificate_key.map((file) => read(scope, file, 'ssl_certificate_key')),
      ciphers: ciphers(conf.ssl_ciphers),
      honorCipherOrder: conf.ssl_prefer_server_ciphers,
      ecdhCurve: conf.ssl_ecdh_curve,
      sessionTimeout: Math.ceil(conf.ssl_session_timeout / 1000),
      ...versions(conf.ssl_protocols.versions),
    };
    if (!conf.ssl_session_tickets) settings.secureOptions = NO_TICKET;
    return settings;
  }
}

/** Node takes the ciphers of TLS 1.3 from the same list; nginx never changes those. */
function ciphers(list: string): string {
  return `TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:${list}`;
}

function versions(wanted: readonly string[]): { minVersion: SecureVersion; maxVersion: SecureVersion } {
  const spoken = VERSIONS.filter((version) => wanted.includes(version));
  return { minVersion: spoken[0] ?? 'TLSv1.2', maxVersion: spoken.at(-1) ?? 'TLSv1.3' };
}

function read(scope: Scope<typeof directives>, file: string, name: string): Buffer {
  const what = name === 'ssl_certificate' ? 'certificate' : 'certificate key';
  return scope.file(file, bytesOf, name, (reason) => `cannot load ${what} "${file}": ${reason}`);
}

const bytesOf = ({ bytes }: InputFile): Buffer => bytes;
