import { argType } from '../core/module/arg-type.js';
import type { SecureVersion } from 'node:tls';
import { choice, flag, rest, size, text, time } from '../core/module/args.js';
import { DYNAMIC_CERTIFICATE, KEY_KINDS, ServedCertificates, type ServedCertificate } from '../core/module/certificates.js';
import { file, type ConfFile } from '../core/module/file.js';
import type { HttpHandlers, Scope } from '../core/module/http.js';
import type { InputFile } from '../core/module/resource.js';
import { httpModule, type TlsSessions, type TlsSettings } from '../core/module/manifest.js';
import { Events } from '../core/module/events.js';
import { Log, ServerInfo, Tasks } from '../core/module/services.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';
import { CertificateWatch } from './srv_http_ssl_module/certificate-watch.js';
import { pairsInForce, type KeyPair } from './srv_http_ssl_module/key-pairs.js';
import { EqualTexts, pem } from './srv_http_ssl_module/pem.js';
import {
  clientCheck,
  clientDirectives,
  clientTls,
  clientVariables,
  explainClientCheck,
} from './srv_http_ssl_module/client-verification.js';
import { besideTickets } from './srv_http_ssl_module/session-cache.js';
import { SessionCaches } from './srv_http_ssl_module/session-caches.js';

const IN = ['http', 'server'] as const;

const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[];

/** Smaller ones hold no session: eight pages of memory. */
const LEAST_CACHE = 32 * 1024;
/** OpenSSL's own cache holds this many sessions if nothing is said, of about so many bytes. */
const BUILTIN_SESSIONS = 20_480;
const SESSION_BYTES = 300;

/** A word of `ssl_session_cache`. */
type CacheWord =
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

const directives = {
  ssl_certificate: directive({
    in: IN,
    args: pem(),
    many: true,
    doc: 'Certificate chain in PEM; several for keys of different kinds.',
  }),
  ssl_certificate_key: directive({
    in: IN,
    args: pem(),
    many: true,
    doc: 'Private key in PEM, in the order of the certificates.',
  }),
  [DYNAMIC_CERTIFICATE]: directive({
    in: ['server'],
    args: { kind: choice(...KEY_KINDS), certificate: pem(), key: pem() },
    many: true,
    inherit: 'none',
    identity: ({ args }) => args[0]?.text ?? '',
    dynamic: true,
    doc: 'Certificate chain and private key that the API has set (/v1/ssl), in the place of those of the same kind of key that ssl_certificate names.',
  }),
  ssl_protocols: directive({
    in: IN,
    args: { versions: rest(choice('SSLv2', 'SSLv3', ...VERSIONS)) },
    default: 'TLSv1.2 TLSv1.3',
    doc: 'Enabled TLS versions.',
  }),
  ssl_ciphers: directive({
    in: IN,
    args: text('ciphers'),
    default: 'HIGH:!aNULL:!MD5',
    doc: 'Ciphers up to TLS 1.2, in the form of OpenSSL.',
  }),
  ssl_prefer_server_ciphers: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: "Prefers the server's order of ciphers to the client's.",
  }),
  ssl_ecdh_curve: directive({ in: IN, args: text('curve'), default: 'auto', doc: 'Curves for the key exchange.' }),
  ssl_session_timeout: directive({ in: IN, args: time({ calendar: true }), default: '5m', doc: 'Time in which a session can be resumed.' }),
  ssl_session_cache: directive({
    in: IN,
    args: { words: rest(sessionCache()) },
    default: 'none',
    doc: 'Keeps the sessions of clients that resume without tickets. Of a shared cache every worker has a copy of this size, which learns of the sessions of others within moments.',
  }),
  ssl_session_tickets: directive({ in: IN, args: flag(), default: 'on', doc: 'Enables session tickets.' }),
  ssl_session_ticket_key: directive({
    in: IN,
    args: file(ticketKeys, 'path'),
    many: true,
    doc: 'File with 48 or 80 random bytes for tickets that several servers share. With the first one tickets are encrypted; those encrypted with another one are accepted as well.',
  }),
  ssl_expiry_warning: directive({
    in: IN,
    args: time({ calendar: true }),
    default: '30d',
    doc: 'Time before the end of a certificate from which on the event certificate.expiring tells of it, once a day; 0: never.',
  }),
  ...clientDirectives,
  ssl_buffer_size: directive({ in: IN, args: size(), doc: 'Accepted; has no effect.' }),
};

/** How often certificates are looked at that were not for a day, in milliseconds. */
const CHECK_EVERY = 3_600_000;

/** SSL_OP_CIPHER_SERVER_PREFERENCE is an option of its own in Node; this one is SSL_OP_NO_TICKET of OpenSSL. */
const NO_TICKET = 0x4000;

/** TLS for servers (ngx_http_ssl_module): certificates of servers and clients, versions, ciphers. */
@httpModule({
  name: 'srv_http_ssl_module',
  api: '1.1',
  directives,
  provides: [ServedCertificates],
  variables: clientVariables,
})
export class Ssl implements ServedCertificates {
  readonly #caches = new SessionCaches();
  /** Made ones by the certificates they are for: with the same keys servers share their TLS context. */
  readonly #ticketKeysMade = new Map<string, Buffer>();
  readonly #texts = new EqualTexts();
  /** Of the servers in force, by the id of their directive. */
  readonly #served = new Map<number, readonly ServedCertificate[]>();
  #isStarted = false;
  #checkIsDue = false;

  readonly #watch: CertificateWatch;

  constructor(
    private readonly info: ServerInfo,
    private readonly tasks: Tasks,
    private readonly log: Log,
    events: Events,
  ) {
    this.#watch = new CertificateWatch(events);
  }

  start(role: 'master' | 'worker' | 'control'): void {
    if (role === 'master') {
      this.#isStarted = true;
      this.#checkSoon();
      this.tasks.every(CHECK_EVERY, () => this.#watch.check());
    }
    if (role === 'worker') this.#caches.connect(() => this.info.secret('srv_http_ssl_module: sessions', 16).toString('hex'));
  }

  stop(): void {
    this.#isStarted = false;
    this.#caches.close();
  }

  /** Looks at certificates when those of a change are in force. */
  #checkSoon(): void {
    if (!this.#isStarted || this.#checkIsDue) return;
    this.#checkIsDue = true;
    this.tasks.after(0, () => {
      this.#checkIsDue = false;
      this.#watch.check();
    });
  }

  of({ id }: Directive): readonly ServedCertificate[] {
    return this.#served.get(id) ?? [];
  }

  #pairs(scope: Scope<typeof directives>): readonly KeyPair[] {
    const { ssl_certificate: certificates, ssl_certificate_key: keys, [DYNAMIC_CERTIFICATE]: dynamic } = scope.conf;
    const chains = certificates.map((certificate) => this.#read(scope, certificate, 'ssl_certificate'));
    const ofFile = keys.map((key, at) => ({
      cert: chains[at] ?? Buffer.alloc(0),
      key: this.#read(scope, key, 'ssl_certificate_key'),
      dynamicKind: undefined,
    }));
    const byApi = dynamic.map(({ kind, certificate, key }) => ({
      cert: this.#read(scope, certificate, DYNAMIC_CERTIFICATE),
      key: this.#read(scope, key, DYNAMIC_CERTIFICATE),
      dynamicKind: kind,
    }));
    return pairsInForce(ofFile, byApi);
  }

  #read(scope: Scope<typeof directives>, pem: ConfFile<Buffer>, name: string): Buffer {
    const what = name === 'ssl_certificate_key' ? 'certificate key' : 'certificate';
    const bytes = pem.in(scope, name, (reason) => `cannot load ${what} "${pem.path}": ${reason}`);
    return this.#texts.one(bytes, fingerprint([bytes]));
  }

  #watchCertificates(scope: Scope<typeof directives>, pairs: readonly KeyPair[]): void {
    const { directive: server } = scope;
    if (this.info.role !== 'master' || server === undefined) return;
    const chains = pairs.map(({ cert }) => cert);
    const certificates = pairs.map(({ cert, dynamicKind }) => ({ chain: cert, isDynamic: dynamicKind !== undefined }));
    const names = Array.from(scope.directive?.block?.named('server_name') ?? []).flatMap(({ args }) => args.map((word) => word.text));
    const served = { names, chains, warning: scope.conf.ssl_expiry_warning };
    scope.register({
      commit: () => {
        this.#served.set(server.id, certificates);
        this.#watch.add(served);
        this.#checkSoon();
      },
      release: () => {
        if (this.#served.get(server.id) === certificates) this.#served.delete(server.id);
        this.#watch.delete(served);
      },
    });
  }

  compileServer(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const { clientAuthority } = clientTls(scope, fingerprint);
    const check = clientCheck(scope, clientAuthority, this.log);
    return check && { post_read: check, explain: { post_read: explainClientCheck(scope, clientAuthority, check) } };
  }

  compileTls(scope: Scope<typeof directives>): TlsSettings | undefined {
    const { conf } = scope;
    if (conf.ssl_certificate.length + conf[DYNAMIC_CERTIFICATE].length === 0) return undefined;
    if (conf.ssl_certificate_key.length !== conf.ssl_certificate.length) {
      const missing = conf.ssl_certificate[conf.ssl_certificate_key.length]?.path ?? '';
      return scope.fail(
        `no "ssl_certificate_key" is defined for certificate "${missing}"`,
        'ssl_certificate',
        'every ssl_certificate needs its ssl_certificate_key',
      );
    }
    const pairs = this.#pairs(scope);
    const cert = pairs.map((pair) => pair.cert);
    this.#watchCertificates(scope, pairs);
    const clients = clientTls(scope, fingerprint);
    const sessions = this.#sessions(conf.ssl_session_cache.words);
    const [ticketKeys = this.#madeTicketKeys(fingerprint(cert)), ...formerKeys] = this.#ticketKeysOf(scope);
    const settings: TlsSettings = {
      cert,
      key: pairs.map(({ key }) => key),
      ciphers: ciphers(conf.ssl_ciphers),
      honorCipherOrder: conf.ssl_prefer_server_ciphers,
      ecdhCurve: conf.ssl_ecdh_curve,
      sessionTimeout: Math.ceil(conf.ssl_session_timeout / 1000),
      ...versions(conf.ssl_protocols.versions),
      ...clients,
      // A session is good for the certificate that it was made with, and for what the client was asked for.
      sessionIdContext: fingerprint([...cert, Buffer.from(clients.clientAuthority ?? '')]).slice(0, 32),
      ticketKeys,
      ...(formerKeys.length > 0 && { formerTicketKeys: formerKeys }),
      ...(!conf.ssl_session_tickets && { secureOptions: NO_TICKET }),
      ...(sessions && { sessions: conf.ssl_session_tickets ? besideTickets(sessions) : sessions }),
    };
    return settings;
  }

  #sessions(words: readonly CacheWord[]): TlsSessions | undefined {
    const shared = words.find((word) => word.kind === 'shared');
    if (shared !== undefined) return this.#caches.shared(shared.name, shared.size);
    const builtin = words.find((word) => word.kind === 'builtin');
    return builtin && this.#caches.builtin(builtin.size);
  }

  /** In the form of Node: 16 bytes each of name, HMAC key, AES key. */
  #ticketKeysOf(scope: Scope<typeof directives>): readonly Buffer[] {
    return scope.each(scope.conf.ssl_session_ticket_key, (key) => {
      const name = 'ssl_session_ticket_key';
      const keys = key.in(scope, name, (reason) => `cannot load session ticket key "${key.path}": ${reason}`);
      return keys ?? scope.fail(`"${key.path}" must be 48 or 80 bytes`, name);
    });
  }

  /** The same in all workers. */
  #madeTicketKeys(certificates: string): Buffer {
    const known = this.#ticketKeysMade.get(certificates);
    const keys = known ?? this.info.secret(`srv_http_ssl_module: tickets ${certificates}`, TICKET_KEYS);
    if (known === undefined) this.#ticketKeysMade.set(certificates, keys);
    return keys;
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

/** Bytes of name, HMAC key and AES key. */
const TICKET_KEYS = 48;

/** nginx's files hold name, AES key and HMAC key. Of the longer keys in files of 80 bytes Node takes a part. */
function ticketKeys({ bytes }: InputFile): Buffer | undefined {
  if (bytes.length !== 48 && bytes.length !== 80) return undefined;
  if (bytes.length === TICKET_KEYS) return Buffer.concat([bytes.subarray(0, 16), bytes.subarray(32), bytes.subarray(16, 32)]);
  return Buffer.concat([bytes.subarray(0, 16), bytes.subarray(16, 32), bytes.subarray(48, 64)]);
}

/** In hexadecimal digits. */
function fingerprint(certificates: readonly Buffer[]): string {
  // Loaded when it is used: servers without TLS need none.
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  for (const certificate of certificates) hash.update(certificate);
  return hash.digest('hex');
}
