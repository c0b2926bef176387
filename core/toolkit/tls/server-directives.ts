/** TLS with clients: what `ssl_*` directives say, for the servers of either traffic engine. */
import { argType } from '../../contract/arg-type.js';
import { choice, flag, path, rest, text, time } from '../../contract/args.js';
import { DYNAMIC_CERTIFICATE, KEY_KINDS } from '../../contract/certificates.js';
import { file } from '../../contract/file.js';
import type { InputFile } from '../../contract/resource.js';
import { ArgError, directive, type ArgType, type ContextName } from '../../contract/spec.js';
import { CACHE_ARGUMENTS } from './certificate-cache.js';
import { clientDirectives } from './client-verification.js';
import { VERSIONS } from './conf-commands.js';
import { passwordsIn } from './encrypted-keys.js';
import { pem, pemSource } from './pem.js';
import { dhParametersIn } from './pem-files.js';

/** Smaller ones hold no session: eight pages of memory. */
const LEAST_CACHE = 32 * 1024;
/** OpenSSL's own cache holds this many sessions if nothing is said, of about so many bytes. */
const BUILTIN_SESSIONS = 20_480;
const SESSION_BYTES = 300;

/** A word of `ssl_session_cache`. */
export type CacheWord =
  | { readonly kind: 'off' | 'none' }
  | { readonly kind: 'builtin'; readonly size: number }
  | { readonly kind: 'shared'; readonly name: string; readonly size: number };

function sessionCache(): ArgType<CacheWord> {
  return argType({
    kind: 'text',
    form: 'off | none | builtin[:size] | shared:name:size',
    parse(value) {
      if (value === 'off' || value === 'none') return { kind: value };
      const [builtin, sessions = BUILTIN_SESSIONS] = /^builtin(?::(\d{1,9}))?$/.exec(value) ?? [];
      if (builtin !== undefined) return { kind: 'builtin', size: Number(sessions) * SESSION_BYTES };
      const [, name = '', amount, unit = ''] = /^shared:([^:]+):(\d{1,9})([km]?)$/i.exec(value) ?? [];
      if (amount === undefined) throw new ArgError(`invalid session cache "${value}"`, 'a cache is written like shared:SSL:10m');
      const bytes = Number(amount) * { '': 1, k: 1024, m: 1024 ** 2 }[unit.toLowerCase() as '' | 'k' | 'm'];
      if (bytes < LEAST_CACHE) throw new ArgError(`session cache "${value}" is too small`, 'it is 32k at least');
      return { kind: 'shared', name, size: bytes };
    },
  });
}

const bytesOf = ({ bytes }: InputFile): Buffer => bytes;

/**
 * @param contexts where they are allowed @param server the innermost of them
 */
export function serverTlsDirectives<R>(contexts: readonly ContextName[], server: ContextName) {
  return {
    ssl_certificate: directive({
      in: contexts,
      args: pemSource<R>(),
      many: true,
      doc: 'Certificate chain in PEM; several for keys of different kinds. With variables it is loaded with each handshake.',
    }),
    ssl_certificate_key: directive({
      in: contexts,
      args: pemSource<R>(),
      many: true,
      doc: 'Private key in PEM, in the order of the certificates. With variables it is loaded with each handshake.',
    }),
    ssl_certificate_cache: directive({
      in: contexts,
      args: CACHE_ARGUMENTS,
      default: 'off',
      doc: 'Caches certificates and keys whose names have variables.',
    }),
    [DYNAMIC_CERTIFICATE]: directive({
      in: [server],
      args: { kind: choice(...KEY_KINDS), certificate: pem(), key: pem() },
      many: true,
      inherit: 'none',
      identity: ({ args }) => args[0]?.text ?? '',
      dynamic: true,
      doc: 'Certificate chain and private key in place of those of the same kind of key that ssl_certificate names. The API sets it for servers of http (PUT /v1/ssl); servers of stream name certificates in their body.',
    }),
    ssl_protocols: directive({
      in: contexts,
      args: { versions: rest(choice('SSLv2', 'SSLv3', ...VERSIONS)) },
      default: 'TLSv1.2 TLSv1.3',
      doc: 'Enabled TLS versions.',
    }),
    ssl_ciphers: directive({
      in: contexts,
      args: text('ciphers'),
      default: 'HIGH:!aNULL:!MD5',
      doc: 'Ciphers up to TLS 1.2, in the form of OpenSSL.',
    }),
    ssl_prefer_server_ciphers: directive({
      in: contexts,
      args: flag(),
      default: 'off',
      doc: "Prefers the server's order of ciphers to the client's.",
    }),
    ssl_ecdh_curve: directive({
      in: contexts,
      args: text('curve'),
      default: 'auto',
      doc: 'Curves for the key exchange, with : between them. The order of the client decides, or with ssl_prefer_server_ciphers that of the server; TLS 1.3 prefers a curve for which the client has sent a key.',
    }),
    ssl_dhparam: directive({
      in: contexts,
      args: file(dhParametersIn),
      doc: 'Parameters in PEM for DHE ciphers, which are not used without.',
    }),
    ssl_session_timeout: directive({
      in: contexts,
      args: time({ calendar: true }),
      default: '5m',
      doc: 'Time in which a session can be resumed.',
    }),
    ssl_session_cache: directive({
      in: contexts,
      args: { words: rest(sessionCache()) },
      default: 'none',
      doc: 'Keeps the sessions of clients that resume without tickets. A shared cache is one memory for all workers, which outlives them and reloads.',
    }),
    ssl_session_tickets: directive({ in: contexts, args: flag(), default: 'on', doc: 'Enables session tickets.' }),
    ssl_session_ticket_key: directive({
      in: contexts,
      args: file(ticketKeys, 'path'),
      many: true,
      doc: 'File with 48 or 80 random bytes (AES-128 or AES-256) for tickets that several servers share. With the first one tickets are encrypted; those encrypted with another one are accepted as well.',
    }),
    ssl_expiry_warning: directive({
      in: contexts,
      args: time({ calendar: true }),
      default: '30d',
      doc: 'Time before the end of a certificate from which the event certificate.expiring is published once a day; 0: never.',
    }),
    ssl_password_file: directive({
      in: contexts,
      args: file(passwordsIn),
      doc: 'Passwords of private keys, one in each line, which are tried in turn.',
    }),
    ssl_reject_handshake: directive({
      in: contexts,
      args: flag(),
      default: 'off',
      doc: 'Rejects handshakes for this server, which needs no certificate then, with the alert "unrecognized name".',
    }),
    ssl_conf_command: directive({
      in: contexts,
      args: { command: text('name'), value: text('value') },
      many: true,
      doc: 'Passes a command to OpenSSL (SSL_CONF_cmd). With the event method node these are possible: Options, CipherString, Ciphersuites, MinProtocol, MaxProtocol, Groups, Curves, SignatureAlgorithms.',
    }),
    ssl_key_log: directive({
      in: contexts,
      args: path(),
      doc: 'File that gets the secrets of each connection in the format SSLKEYLOGFILE, with which Wireshark decrypts what was captured: for debugging only. It has the mode 0600.',
    }),
    ssl_certificate_compression: directive({
      in: contexts,
      args: flag(),
      default: 'off',
      doc: 'Compression of certificates (RFC 8879) is not supported by Node.js: "on" has no effect, and is warned of. Clients get them uncompressed.',
    }),
    ssl_ech_file: directive({
      in: contexts,
      args: text('file'),
      many: true,
      doc: 'Encrypted Client Hello is not supported by Node.js: the directive is rejected, because clients with its key could not connect.',
    }),
    ...staplingDirectives(contexts),
    ...ocspDirectives(contexts),
    ...clientDirectives(contexts),
  };
}

function staplingDirectives(contexts: readonly ContextName[]) {
  return {
    ssl_stapling: directive({
      in: contexts,
      args: flag(),
      default: 'off',
      doc: 'Sends clients the status of the certificate (OCSP) along with it. The main thread asks the responder, ahead of time: no handshake waits. Certificates by variables have none. Needs the event method epoll.',
    }),
    ssl_stapling_file: directive({
      in: contexts,
      args: file(bytesOf),
      doc: 'File with an OCSP response in DER, which clients get instead of one that is fetched.',
    }),
    ssl_stapling_responder: directive({
      in: contexts,
      args: text('url'),
      doc: 'URL of the OCSP responder, which begins with http://. Default: that of the certificate.',
    }),
    ssl_stapling_verify: directive({
      in: contexts,
      args: flag(),
      default: 'off',
      doc: 'Verifies OCSP responses with the authorities of ssl_trusted_certificate.',
    }),
  };
}

/** Features that Node.js does not have: only `off` works. */
function ocspDirectives(contexts: readonly ContextName[]) {
  return {
    ssl_ocsp: directive({
      in: contexts,
      args: choice('on', 'off', 'leaf'),
      default: 'off',
      doc: 'Certificates of clients cannot be checked by OCSP: only "off" is accepted.',
    }),
    ssl_ocsp_cache: directive({ in: contexts, args: text('cache'), default: 'off', doc: 'Accepted; has no effect.' }),
    ssl_ocsp_responder: directive({ in: contexts, args: text('url'), doc: 'Accepted; has no effect.' }),
  };
}

/** Bytes of name, HMAC key and AES key, for AES-128 and AES-256. */
export const TICKET_KEYS = 48;
const LONG_TICKET_KEYS = 80;

/** @returns name, HMAC key and AES key: 16 bytes each, or 16, 32 and 32. nginx's files of 48 bytes have the AES key before the HMAC key. */
export function ticketKeys({ bytes }: Pick<InputFile, 'bytes'>): Buffer | undefined {
  if (bytes.length === LONG_TICKET_KEYS) return bytes;
  if (bytes.length !== TICKET_KEYS) return undefined;
  return Buffer.concat([bytes.subarray(0, 16), bytes.subarray(32), bytes.subarray(16, 32)]);
}
