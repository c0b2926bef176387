/** Manifests of modules, and the decorators that declare them. */
import 'reflect-metadata';
import { injectable } from 'tsyringe';
import type { HttpRequest, Phase, Scope, HttpHandlers, VariableGetter, VariablePrefix } from './http.js';
import type { Affinity } from './affinity.js';
import type { BalancingMethod, UpstreamScope } from './balancer.js';
import type { HealthPlan } from './health.js';
import type { MemberSource } from './members.js';
import type { LogFile } from './log-files.js';
import type { Resource } from './resource.js';
import type { BlockScope } from './scope.js';
import type { Setting } from './setting.js';
import type { ArgContext, Directives } from './spec.js';
import type { StreamHandlers, StreamPhase, StreamScope, StreamSession, StreamVariable, StreamVariablePrefix } from './stream.js';
import type { Getter } from './template.js';
import type { PemText, PrivateKeys, TlsContextSettings } from './tls-context.js';
import type { StapledStatus, TlsCommand } from './tls-library.js';
import type { Directive } from './tree.js';

/** The version of this contract. A module with another one, or with a later minor, is rejected by name. */
export const API_VERSION = 1;
/** Compatible additions: 1 added services between modules, tasks, order by name, both halves in one file; 2 events, settings, explanations. */
export const API_MINOR = 2;

/** Where a module may be loaded: the data plane, the control plane (the process of `helper ctrl`), or either. */
export type Plane = (typeof PLANES)[number];
export const PLANES = ['data', 'control', 'both'] as const;

export interface Manifest {
  /** The file name without extension: `srv_http_proxy_module`. */
  readonly name: string;
  /** The contract it was written for: `1`, or `'1.1'` if it needs what that minor version has added. */
  readonly api: typeof API_VERSION | `${typeof API_VERSION}.${number}`;
  readonly plane?: Plane;
  readonly directives?: Directives;
  /** Settings that the API shows and changes below `/v1/config/`. The file is loaded in both planes then. */
  readonly settings?: readonly Setting[];
  /** Modules that must be loaded before this one, by name, and services of modules that its constructor does not ask for. */
  readonly needs?: readonly (string | ModuleService)[];
  /** Services that the module's object is for other modules: their constructors ask for them as for those of srv. */
  readonly provides?: readonly ModuleService[];
}

export interface HttpManifest extends Manifest {
  /** Modules whose handlers and filters run before those of this module, wherever both have some; whatever the numbers in `phases` are. */
  readonly after?: string | readonly string[];
  /** As {@link after}, for modules that come later. */
  readonly before?: string | readonly string[];
  /** Order within a phase, lower first (default 100); those of one number run in the order they were loaded. */
  readonly phases?: Partial<Record<Phase | 'header' | 'log', number>>;
  /** Variables by name. Families of them are {@link HttpModule.variablePrefixes}. */
  readonly variables?: Readonly<Record<string, VariableGetter>>;
}

/** As {@link HttpManifest}, for sessions. */
export interface StreamManifest extends Manifest, Pick<HttpManifest, 'after' | 'before'> {
  /** Order within a phase, lower first (default 100); those of one number run in the order they were loaded. */
  readonly phases?: Partial<Record<StreamPhase | 'log', number>>;
  /** Variables by name. Families of them are {@link StreamModule.variablePrefixes}. */
  readonly variables?: Readonly<Record<string, StreamVariable>>;
}

export interface ControlManifest extends Manifest {
  /** First part of its paths below `/v1/`, and the key of `api_limit_except`: `upstream_api`. */
  readonly key: string;
  /**
   * Beginning of its paths instead of `/v1/KEY`: for an API with another form than that of srv, and its own document. Absent in the
   * OpenAPI document.
   */
  readonly root?: string;
  /**
   * The module of the data plane that carries its calls out, if its own name is another one: where it is not loaded, a check of the configuration
   * warns of it, and responses to calls contain its `load_module` line.
   */
  readonly dataModule?: string;
}

export const HELPERS = ['broker', 'ctrl'] as const;
export interface HelperManifest extends Manifest {
  /** The word after `helper`. */
  readonly helper: (typeof HELPERS)[number];
}

/** The main level of a configuration, for a module that has directives there. */
export type MainScope<D extends Directives> = Pick<BlockScope<D, 'main', never>, 'conf' | 'lines' | 'file' | 'fail' | 'each'>;

/** Optional steps in the life of every module. No timers, sockets or files before `start`, none after `stop`. */
export interface Lifecycle {
  /**
   * Awaited at start and at reload, before handlers of the module get a request, for 10 seconds at most. An exception rejects the
   * configuration. A running module is not started again by a reload, unless its files have changed. In the main thread this and the other
   * hooks may keep the thread busy for 10 seconds: then they are ended, without their `finally` and `catch`.
   * @param former what {@link handOver} of the object that this one replaces has returned in the same thread
   */
  start?(role: 'master' | 'worker' | 'control', former?: unknown): void | Promise<void>;
  /**
   * Called in each thread when directives of the module at the main level, or inside of their blocks, have changed, and at a reload. For directives
   * that no traffic engine compiles. @returns what takes effect with the configuration
   */
  compileMain?(scope: MainScope<Directives>): Resource | undefined;
  /**
   * Called when a reload is about to start a new version of the module. The object serves on, and its `stop` follows when the requests under
   * way are over; or the reload is rejected, and it stays active.
   */
  handOver?(): unknown;
  /** Called once after a `start`, also after one that failed half-way. Waited for 5 seconds at most. */
  stop?(): void | Promise<void>;
}

/** Keeps the sessions that clients resume by their ids. Ids are strings of bytes (latin1). */
export interface TlsSessions {
  /** @param timeout milliseconds */
  store(id: string, session: Buffer, timeout: number): void;
  find(id: string): Buffer | undefined;
}

/** Certificates that a handshake, or a connection, has chosen. The same ones are the same object. */
export interface ChosenCertificates {
  /** Chains in PEM, each beginning with the certificate itself. */
  readonly cert: PemText | readonly PemText[];
  readonly key: PrivateKeys;
  /** A name that no other certificates have. */
  readonly digest: string;
}

export interface CertificateChooser {
  /**
   * @param subject the request or the session; in a handshake with a client of HTTP a request of which only connection and server exist
   * @returns undefined: none @throws Error whose message is for the error log
   */
  choose(subject: object): ChosenCertificates | undefined;
}

/** Gets the secrets of connections in the format SSLKEYLOGFILE, a line each: they can decrypt captured connections. */
export type KeyLog = Pick<LogFile, 'write'>;

/** Certificate, protocols and ciphers of one server. */
export interface TlsSettings extends TlsContextSettings {
  /**
   * Clients are asked for a certificate, which is compared with `ca`, `trusted` and `crl`; any result lets the handshake succeed. A name that no other
   * set of authorities has.
   */
  readonly clientAuthority?: string;
  /**
   * Certificates that may be between that of a client and its authority; absent: any number. Sessions of clients whose chain is longer are not
   * kept in `sessions`; they would be resumed with tickets, which therefore have to be off.
   */
  readonly verifyDepth?: number;
  /** Further authorities, in PEM. Clients get the names of the authorities in `ca` alone. */
  readonly trusted?: readonly Buffer[];
  /** Absent: clients resume with tickets or not at all. */
  readonly sessions?: TlsSessions;
  /** Milliseconds for the handshake; absent: as long as the engine waits for a request. */
  readonly handshakeTimeout?: number;
  /** Protocols by ALPN, the one it likes best first; absent: those of the engine. */
  readonly alpn?: readonly string[];
  /** Handshakes are rejected with an alert (`unrecognized_name`, RFC 6066, 3); then no certificate is needed. */
  readonly rejectsHandshake?: boolean;
  /** In the place of `cert` and `key`: chosen with each handshake. */
  readonly certificates?: CertificateChooser;
  /** Gets the secrets of each connection, see {@link KeyLog}. */
  readonly keyLog?: KeyLog;
  /** There is no certificate yet: handshakes fail, and the error log says so. */
  readonly awaitsCertificate?: boolean;
  /** Further keys in the form of `ticketKeys`, for tickets that were encrypted with them; clients get new ones then. */
  readonly formerTicketKeys?: readonly Buffer[];
  /** Statuses that clients get along with the certificates, in their order; only the event method `epoll` has them. */
  readonly statuses?: readonly (StapledStatus | undefined)[];
  /** Further settings, as commands of OpenSSL. The sockets of Node.js have only some of them. */
  readonly commands?: readonly TlsCommand[];
  /** Clients that resume a session of TLS 1.3 may send early data; only the event method `epoll` has it. */
  readonly earlyData?: boolean;
}

/** Context in which a module compiles variables. `R` is the kind of request that the traffic engine of the directive serves. */
export interface DefinitionContext<R = HttpRequest> extends ArgContext<R> {
  /** Rejects the configuration at a directive: the one that defines, or an entry of its block. Throws. */
  fail(message: string, place?: Directive, hint?: string): never;
  /** Warns of a valid but probably unintended directive, as {@link fail} rejects one. */
  advise(message: string, place?: Directive): void;
}

/** Hooks of an HTTP module. */
export interface HttpModule extends Lifecycle {
  /** Called once for each location (and `if`, `limit_except`) when the tree changes. Nothing returned: nothing runs there. */
  compile?(scope: Scope): HttpHandlers | undefined;
  /** Called once for each server: its post_read, server_rewrite. */
  compileServer?(scope: Scope): HttpHandlers | undefined;
  /** Called once for each server that listens with TLS; the first module that returns something decides. */
  compileTls?(scope: Scope): TlsSettings | undefined;
  /**
   * The values of variables that a directive defines (`defines` of its spec), for requests that were assigned none: of a `map`. Called when
   * the directive is added or changed; they take effect with the configuration.
   */
  compileVariables?(directive: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined;
  /** Called once for each `upstream` block with a directive of the module: the method it balances by. The last one in the block decides. */
  balancer?(scope: UpstreamScope): BalancingMethod | undefined;
  /** As {@link balancer}: what binds clients to members, over the method of the upstream. */
  affinity?(scope: UpstreamScope): Affinity | undefined;
  /**
   * Called once for each `upstream` block, whatever its directives are: how its members are checked. The first module that returns something
   * decides.
   */
  health?(scope: UpstreamScope): HealthPlan | undefined;
  /**
   * Called for each `server` line with `members_from=SOURCE` in an upstream of either engine: where its servers come from. The first module that returns
   * something decides.
   */
  members?(source: string, scope: UpstreamScope): MemberSource | undefined;
  /** Variables that need the module's services. Same form as in the manifest. */
  readonly variables?: Readonly<Record<string, VariableGetter>>;
  /** Families of variables: `{ http_: rest => request => … }`. */
  readonly variablePrefixes?: Readonly<Record<string, VariablePrefix>>;
}

/** Hooks of a stream module. Directives in the context `stream upstream` are for balancers, as in `upstream`. */
export interface StreamModule extends Lifecycle {
  /** Called once for each server when the tree changes. Nothing returned: nothing runs there. */
  compile?(scope: StreamScope): StreamHandlers | undefined;
  /** Called once for each server that listens with TLS; the first module that returns something decides. */
  compileTls?(scope: StreamScope): TlsSettings | undefined;
  /** See {@link HttpModule.compileVariables}. */
  compileVariables?(directive: Directive, context: DefinitionContext<StreamSession>): Readonly<Record<string, StreamVariable>> | undefined;
  balancer?(scope: UpstreamScope): BalancingMethod | undefined;
  readonly variables?: Readonly<Record<string, StreamVariable>>;
  readonly variablePrefixes?: Readonly<Record<string, StreamVariablePrefix>>;
}

export type ModuleKind = 'core' | 'http' | 'stream' | 'control' | 'helper';
/** A service, as a constructor asks for it. */
type ServiceClass = abstract new (...args: never[]) => object;
/**
 * A service that one module provides and others need: an abstract class whose static field `service` is its name, as `acme.sessions`.
 * Classes of the same name are the same service, so that modules which cannot import each other may each declare it.
 */
export type ModuleService = ServiceClass & { readonly service: string };
export interface ModuleClass {
  new (...args: never[]): object;
  /** The services that the constructor takes, in order. Only for a class in plain JavaScript: otherwise they are its parameter types. */
  readonly services?: readonly ServiceClass[];
}
export interface ModuleDeclaration {
  readonly kind: ModuleKind;
  readonly manifest: Manifest &
    Partial<Omit<HttpManifest, 'phases' | 'variables'>> & {
      readonly phases?: Partial<Record<Phase | StreamPhase | 'header' | 'log', number>>;
      readonly variables?: Readonly<Record<string, Getter<never>>>;
    } & Partial<ControlManifest> &
    Partial<HelperManifest>;
}

const DECLARATION = Symbol.for('srv:module');

function declare(declaration: ModuleDeclaration) {
  return (target: ModuleClass): void => {
    if (target.services) Reflect.defineMetadata('design:paramtypes', target.services, target);
    injectable()(target);
    Reflect.defineMetadata(DECLARATION, declaration, target);
  };
}

/** A feature of the HTTP engine. */
export const httpModule = (manifest: HttpManifest) => declare({ kind: 'http', manifest });
/** A feature of the stream engine. */
export const streamModule = (manifest: StreamManifest) => declare({ kind: 'stream', manifest });
/** Routes of the REST API. */
export const controlModule = (manifest: ControlManifest) => declare({ kind: 'control', manifest: { plane: 'control', ...manifest } });
/** A process of its own beside the data plane. */
export const helperModule = (manifest: HelperManifest) => declare({ kind: 'helper', manifest });
/** Directives, services and actions without a part in HTTP. */
export const coreModule = (manifest: Manifest) => declare({ kind: 'core', manifest });

/** Declaration of a decorator; undefined if the class is not a module. */
export function declarationOf(target: unknown): ModuleDeclaration | undefined {
  return typeof target === 'function' ? (Reflect.getMetadata(DECLARATION, target) as ModuleDeclaration | undefined) : undefined;
}
