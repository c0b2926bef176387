import { DYNAMIC_CERTIFICATE, type ServedCertificate } from '../../contract/certificates.js';
import type { Channels } from '../../contract/channels.js';
import type { ControlPlaneGuard } from '../../contract/control-plane-guard.js';
import type { Events } from '../../contract/events.js';
import type { ConfFile } from '../../contract/file.js';
import type { HostNames } from '../../contract/host-names.js';
import type { Log } from '../../contract/log.js';
import type { TlsSessions, TlsSettings } from '../../contract/manifest.js';
import type { BlockScope } from '../../contract/scope.js';
import type { LogFiles } from '../../contract/log-files.js';
import type { ServerInfo } from '../../contract/server-info.js';
import type { Tasks } from '../../contract/tasks.js';
import type { Conf, Directives } from '../../contract/spec.js';
import type { LockedKey, TlsVersion } from '../../contract/tls-context.js';
import type { TlsCommand, TlsLibrary } from '../../contract/tls-library.js';
import type { Directive } from '../../contract/tree.js';
import { CertificateCache, cacheOptions } from './certificate-cache.js';
import { CertificateWatch } from './certificate-watch.js';
import { clientTls } from './client-verification.js';
import { problemOf, SUITES, VERSIONS, withPath, type CommandOptions } from './conf-commands.js';
import { digestOf } from './digest.js';
import { assertPasswords, unlocked } from './encrypted-keys.js';
import { openKeyLog } from './key-log-file.js';
import { pairsInForce, type KeyPair } from './key-pairs.js';
import { NegotiationCheck } from './negotiation-check.js';
import { EqualTexts, isVariable } from './pem.js';
import { readChecked } from './pem-files.js';
import { TICKET_KEYS, type CacheWord, type serverTlsDirectives } from './server-directives.js';
import { besideTickets } from './session-cache.js';
import { SessionCaches } from './session-caches.js';
import { Stapling } from './stapling.js';
import { VariableCertificates, type SourcePair } from './variable-certificates.js';

/** The scope of a server. */
export type TlsScope<R> = Pick<
  BlockScope<Directives, string, never>,
  'directive' | 'fail' | 'advise' | 'each' | 'file' | 'register' | 'args'
> & {
  readonly conf: Conf<ReturnType<typeof serverTlsDirectives<R>>>;
};

/** How often certificates are looked at that were not for a day, in milliseconds. */
const CHECK_EVERY = 3_600_000;

/** SSL_OP_CIPHER_SERVER_PREFERENCE is an option of its own in Node; this one is SSL_OP_NO_TICKET of OpenSSL. */
const NO_TICKET = 0x4000;

/** The cache in the place of tickets for servers that verify clients: its name, which no configuration can have, and its bytes. */
const OF_CLIENTS = [':verified clients', 4 * 1024 ** 2] as const;

/** Services of a module that has them. */
export interface ServerTlsServices {
  readonly info: ServerInfo;
  readonly tasks: Tasks;
  readonly events: Events;
  readonly files: LogFiles;
  readonly log: Log;
  readonly channels: Channels;
  readonly library: TlsLibrary;
  readonly names: HostNames;
  readonly guard: ControlPlaneGuard;
}

/** The TLS settings of the servers of one traffic engine in one thread. */
export class ServerTlsSettings<R extends object> {
  readonly #caches: SessionCaches;
  /** Made ones by the certificates they are for: with the same keys servers share their TLS context. */
  readonly #ticketKeysMade = new Map<string, Buffer>();
  readonly #texts = new EqualTexts();
  /** Of the current servers, by the id of their directive. */
  readonly #served = new Map<number, readonly ServedCertificate[]>();
  #isStarted = false;
  #checkIsDue = false;

  readonly #watch: CertificateWatch;
  readonly #stapling: Stapling;
  readonly #info: ServerInfo;
  readonly #tasks: Tasks;
  readonly #files: LogFiles;
  readonly #library: TlsLibrary;
  readonly #check: NegotiationCheck;

  /** @param name of the module: what others have with the same session cache is another one */
  constructor(
    private readonly name: string,
    { info, tasks, events, files, log, channels, library, names, guard }: ServerTlsServices,
  ) {
    this.#info = info;
    this.#tasks = tasks;
    this.#files = files;
    this.#library = library;
    this.#check = new NegotiationCheck(library);
    this.#watch = new CertificateWatch(events);
    this.#caches = new SessionCaches({ info, channels });
    this.#stapling = new Stapling({ info, tasks, log, channels, library, names, guard });
  }

  start(role: 'master' | 'worker' | 'control'): void {
    this.#stapling.start(role);
    this.#caches.start(role);
    if (role === 'master') {
      this.#isStarted = true;
      this.#checkSoon();
      this.#tasks.every(CHECK_EVERY, () => this.#watch.check());
    }
  }

  stop(): void {
    this.#isStarted = false;
    this.#stapling.stop();
    this.#caches.stop();
  }

  /** Looks at certificates when those of a change are active. */
  #checkSoon(): void {
    if (!this.#isStarted || this.#checkIsDue) return;
    this.#checkIsDue = true;
    this.#tasks.after(0, () => {
      this.#checkIsDue = false;
      this.#watch.check();
    });
  }

  of({ id }: Directive): readonly ServedCertificate[] {
    return this.#served.get(id) ?? [];
  }

  #pairs(scope: TlsScope<R>): readonly KeyPair[] {
    const { ssl_certificate: certificates, ssl_certificate_key: keys, [DYNAMIC_CERTIFICATE]: dynamic } = scope.conf;
    const ofFile = keys.flatMap((key, at) => {
      const certificate = certificates[at];
      if (certificate === undefined || isVariable(certificate, key)) return [];
      const chain = this.#read(scope, certificate, 'ssl_certificate');
      return [{ cert: chain, path: certificate.path, key: this.#read(scope, key, 'ssl_certificate_key'), dynamicKind: undefined }];
    });
    const byApi = dynamic.map(({ kind, certificate, key }) => ({
      cert: this.#read(scope, certificate, DYNAMIC_CERTIFICATE),
      path: `${kind} of the API`,
      key: this.#read(scope, key, DYNAMIC_CERTIFICATE),
      dynamicKind: kind,
    }));
    return pairsInForce(ofFile, byApi);
  }

  #read(scope: TlsScope<R>, pem: ConfFile<Buffer>, name: string): Buffer {
    const what = name === 'ssl_certificate_key' ? 'certificate key' : 'certificate';
    const bytes = pem.in(scope, name, (reason) => `cannot load ${what} "${pem.path}": ${reason}`);
    return this.#texts.one(bytes, digestOf([bytes]));
  }

  /** Undefined: no variables name certificates, or those of the API take their place. */
  #chooser(scope: TlsScope<R>): VariableCertificates<R> | undefined {
    const { ssl_certificate: certificates, ssl_certificate_key: keys, [DYNAMIC_CERTIFICATE]: dynamic } = scope.conf;
    const options = cacheOptions(scope.conf.ssl_certificate_cache, (message) =>
      scope.fail(`"ssl_certificate_cache" ${message}`, 'ssl_certificate_cache'),
    );
    if (dynamic.length > 0 || !certificates.some((certificate, at) => isVariable(certificate, keys[at]))) return undefined;
    const pairs = certificates.flatMap((certificate, at): SourcePair<R>[] => {
      const key = keys[at];
      if (key === undefined) return [];
      return [
        {
          cert: certificate.variable ?? this.#read(scope, certificate, 'ssl_certificate'),
          key: key.variable ?? this.#read(scope, key, 'ssl_certificate_key'),
        },
      ];
    });
    return new VariableCertificates(pairs, new CertificateCache(options), this.#texts, this.#passwords(scope));
  }

  #passwords(scope: TlsScope<R>): readonly string[] {
    return scope.conf.ssl_password_file?.in(scope, 'ssl_password_file') ?? [];
  }

  #watchCertificates(scope: TlsScope<R>, pairs: readonly KeyPair[]): void {
    const { directive: server } = scope;
    if (this.#info.role !== 'master' || server === undefined) return;
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

  /** @returns undefined for a server without a certificate */
  compile(scope: TlsScope<R>): TlsSettings | undefined {
    const { conf } = scope;
    rejectUnsupported(scope);
    if (!hasCertificates(scope)) {
      // Its certificate is never sent.
      return conf.ssl_reject_handshake ? { rejectsHandshake: true, ca: [] } : undefined;
    }
    if (conf.ssl_certificate_key.length !== conf.ssl_certificate.length) {
      const missing = conf.ssl_certificate[conf.ssl_certificate_key.length]?.path ?? '';
      return scope.fail(
        `no "ssl_certificate_key" is defined for certificate "${missing}"`,
        'ssl_certificate',
        'every ssl_certificate needs its ssl_certificate_key',
      );
    }
    const certificates = this.#chooser(scope);
    const pairs = certificates === undefined ? this.#pairs(scope) : [];
    const cert = pairs.map((pair) => pair.cert);
    // Of certificates by variables: each has sessions of its own.
    const sources = certificates === undefined ? [] : conf.ssl_certificate.map(({ path }) => Buffer.from(path));
    this.#watchCertificates(scope, pairs);
    const clients = clientTls(scope, digestOf);
    // A ticket has the certificate of the client and not its chain, so the length of the chain would be unknown later.
    const givesTickets = conf.ssl_session_tickets && clients.clientAuthority === undefined;
    const configured = this.#sessions(scope);
    const sessions = configured ?? (conf.ssl_session_tickets && !givesTickets ? this.#caches.shared(scope, ...OF_CLIENTS) : undefined);
    const [ticketKeys = this.#madeTicketKeys(digestOf([...cert, ...sources])), ...formerKeys] = this.#ticketKeysOf(scope);
    const statuses = this.#stapling.of(scope, pairs);
    const commands = this.#commands(scope);
    const settings: TlsSettings = {
      ...(certificates === undefined ? { cert, key: this.#keys(scope, pairs) } : { certificates }),
      ...this.#negotiation(scope, givesTickets),
      honorCipherOrder: conf.ssl_prefer_server_ciphers,
      ...(conf.ssl_dhparam && {
        dhparam: readChecked(scope, conf.ssl_dhparam, '"ssl_dhparam"', 'ssl_dhparam', 'make it: openssl dhparam -out dhparam.pem 2048'),
      }),
      sessionTimeout: Math.ceil(conf.ssl_session_timeout / 1000),
      ...clients,
      // A session is good for the certificate that it was made with, and for what the client was asked for.
      sessionIdContext: digestOf([...cert, ...sources, Buffer.from(clients.clientAuthority ?? '')]).slice(0, 32),
      ticketKeys,
      ...(formerKeys.length > 0 && { formerTicketKeys: formerKeys }),
      ...(conf.ssl_reject_handshake && { rejectsHandshake: true }),
      ...(conf.ssl_key_log !== undefined && { keyLog: openKeyLog(scope, this.#files, conf.ssl_key_log, 'ssl_key_log') }),
      ...(statuses && { statuses }),
      ...(commands.length > 0 && { commands }),
      ...(sessions && { sessions: givesTickets ? besideTickets(sessions) : sessions }),
    };
    return settings;
  }

  /** Encrypted ones with their passwords. */
  #keys(scope: TlsScope<R>, pairs: readonly KeyPair[]): (Buffer | LockedKey)[] {
    const { ssl_certificate_key: named } = scope.conf;
    const passwords = this.#passwords(scope);
    return pairs.map(({ key }, at) => {
      const path = named[at]?.path ?? '';
      assertPasswords(scope, key, passwords, { path, place: 'ssl_certificate_key', file: 'ssl_password_file' });
      try {
        return unlocked(key, passwords);
      } catch (error) {
        return scope.fail(
          `cannot load certificate key "${path}": PEM_read_bio_PrivateKey() failed (${(error as Error).message})`,
          'ssl_certificate_key',
          'none of the passwords of ssl_password_file opens it',
        );
      }
    });
  }

  #negotiation(scope: TlsScope<R>, givesTickets: boolean): CommandOptions {
    const { conf } = scope;
    if (this.#info.role !== 'worker') {
      const problem = this.#check.ofCiphers(conf.ssl_ciphers);
      if (problem !== undefined) scope.fail(problem, 'ssl_ciphers', 'names of ciphers: openssl ciphers');
      const problemOfGroups = this.#check.ofGroups(conf.ssl_ecdh_curve);
      if (problemOfGroups !== undefined) scope.fail(problemOfGroups, 'ssl_ecdh_curve', 'names of curves, as X25519:prime256v1');
    }
    const options: CommandOptions = {
      ecdhCurve: conf.ssl_ecdh_curve,
      ...versions(conf.ssl_protocols.versions),
      ...(!givesTickets && { secureOptions: NO_TICKET }),
    };
    return { ...options, ciphers: [SUITES, conf.ssl_ciphers].filter((part) => part !== '').join(':') };
  }

  #commands(scope: TlsScope<R>): readonly TlsCommand[] {
    return scope.each(scope.conf.ssl_conf_command, (written) => {
      const command = withPath(written, (path) => scope.args.path(path, 'conf'));
      const problem = this.#info.role === 'worker' ? undefined : problemOf(command, this.#library);
      return problem === undefined ? command : scope.fail(problem, 'ssl_conf_command');
    });
  }

  #sessions(scope: TlsScope<R>): TlsSessions | undefined {
    const words: readonly CacheWord[] = scope.conf.ssl_session_cache.words;
    const shared = words.find((word) => word.kind === 'shared');
    if (shared !== undefined) return this.#caches.shared(scope, shared.name, shared.size);
    const builtin = words.find((word) => word.kind === 'builtin');
    return builtin && this.#caches.builtin(builtin.size);
  }

  /** Name, HMAC key, AES key: see {@link ticketKeys}. */
  #ticketKeysOf(scope: TlsScope<R>): readonly Buffer[] {
    return scope.each(scope.conf.ssl_session_ticket_key, (key) => {
      const name = 'ssl_session_ticket_key';
      const keys = key.in(scope, name, (reason) => `cannot load session ticket key "${key.path}": ${reason}`);
      return keys ?? scope.fail(`"${key.path}" must be 48 or 80 bytes`, name);
    });
  }

  /** The same in all workers. */
  #madeTicketKeys(certificates: string): Buffer {
    const known = this.#ticketKeysMade.get(certificates);
    const keys = known ?? this.#info.secret(`${this.name}: tickets ${certificates}`, TICKET_KEYS);
    if (known === undefined) this.#ticketKeysMade.set(certificates, keys);
    return keys;
  }
}

/** nginx says the same where OpenSSL was built without. */
/** False: handshakes for this server are made with the certificates of another one, the default server of the address. */
export function hasCertificates<R>({ conf }: Pick<TlsScope<R>, 'conf'>): boolean {
  return conf.ssl_certificate.length + conf[DYNAMIC_CERTIFICATE].length > 0;
}

function rejectUnsupported(scope: TlsScope<never>): void {
  const { ssl_ocsp: ocsp } = scope.conf;
  if (scope.conf.ssl_certificate_compression)
    scope.advise('"ssl_certificate_compression" is not supported on this platform, ignored', 'ssl_certificate_compression');
  if (scope.conf.ssl_ech_file.length > 0)
    scope.fail(
      '"ssl_ech_file" is not supported on this platform',
      'ssl_ech_file',
      'Node.js has no Encrypted Client Hello: remove it, here and the "ech" parameter of HTTPS records in DNS',
    );
  if (ocsp !== 'off')
    scope.fail('"ssl_ocsp" is not supported on this platform', 'ssl_ocsp', 'Node.js has no OCSP for certificates of clients');
}

function versions(wanted: readonly string[]): { minVersion: TlsVersion; maxVersion: TlsVersion } {
  const spoken = VERSIONS.filter((version) => wanted.includes(version));
  return { minVersion: spoken[0] ?? 'TLSv1.2', maxVersion: spoken.at(-1) ?? 'TLSv1.3' };
}
