/**
 * The services a module may ask for in its constructor, by type. Abstract classes, because they are tokens at run time as well:
 * `constructor(private readonly log: Log)`.
 */
import type { ApiAccessSettings } from './api-access.js';
import type { ActionContext, Call, Preconditions } from './control.js';
import type { ExplainNotes } from './explain.js';
import type { HealthFigures } from './health.js';
import type { ErrorBody, Handler, HttpHandlers, HttpRequest, Result, Scope, Template } from './http.js';
import type { WorkerStatistics } from './server-status.js';
import type { StreamSession } from './stream.js';
import type { UpstreamTls } from './tls/upstream-tls.js';
import type { Block, Directive, NewDirective } from './tree.js';
import type { TunnelFacts, TunnelPlan } from './tunnel.js';

export type LogLevel = 'debug' | 'info' | 'notice' | 'warn' | 'error' | 'crit' | 'alert' | 'emerg';

/** `number`: that of its connection only, for a text that tells the rest itself. */
export type SubjectDetail = 'all' | 'number';

/** The error log. Lines look like nginx's: the module's name, then `text`, then what is known of a request or session: client, server, upstream. */
export abstract class Log {
  /** @param detail what the line says of its subject. Default: `all` */
  abstract write(level: LogLevel, text: string, subject?: HttpRequest | StreamSession, detail?: SubjectDetail): void;
  /** Whether lines of that level are written. @param subject what they are about: its server may have a log of its own */
  abstract enabled(level: LogLevel, subject?: HttpRequest | StreamSession): boolean;
}

/** Work of a module beside its requests. Called with a signal that is aborted when the module stops. */
export type TaskWork = (signal: AbortSignal) => void | Promise<void>;
export interface Task {
  /** Does not run it (again). Work under way goes on. */
  cancel(): void;
}

/**
 * Timers and background work of one module. What the work throws is logged with the module's name, and costs nothing else. They end with
 * the module: timers are cancelled, the signal is aborted, and work under way is waited for up to 5 seconds.
 * @throws Error before `start` and after `stop`
 */
export abstract class Tasks {
  /** Aborted when the module stops: for what waits, as in `fetch(url, { signal })`. */
  abstract readonly signal: AbortSignal;
  /** Starts `work` now, and does not wait for it. */
  abstract run(work: TaskWork): void;
  /** Runs `work` once, `ms` milliseconds from now. @throws RangeError for a negative delay or one above 2^31 - 1 */
  abstract after(ms: number, work: TaskWork): Task;
  /** Runs `work` every `ms` milliseconds, first in `ms`. The next run waits for the one before. @throws RangeError below 1 or above 2^31 - 1 */
  abstract every(ms: number, work: TaskWork): Task;
}

/** Who and where this server is. */
export abstract class ServerInfo {
  abstract readonly version: string;
  abstract readonly prefix: string;
  /** `master`: the main thread of the data plane; `control`: the process of `helper ctrl`. */
  abstract readonly role: 'master' | 'worker' | 'control';
  /** 0-based number of this worker; -1 in the master. */
  abstract readonly worker: number;
  abstract readonly clusterName: string;
  abstract readonly nodeName: string;
  /** Aborted when this server or worker is told to end gracefully: a response that would go on for ever ends now, or QUIT waits for it. */
  abstract readonly leaving: AbortSignal;
  /** An absolute path for one that may be relative to the prefix. */
  abstract path(relative: string): string;
  /** Bytes for one purpose that all threads of this server have in common and nobody else knows: others after each start. */
  abstract secret(purpose: string, length: number): Buffer;
}

/** Files that are appended to line by line, shared by path, reopened on USR1. Writes of one turn of the event loop leave together. */
export abstract class LogFiles {
  /**
   * What is opened in `compile` is closed with its scope: `scope.register({ abort: () => file.close(true), release: () => file.close() })`.
   * @param onLost called with the reason when lines cannot be written and are lost: once, and again after lines that could be
   * @throws Error in nginx's words, for {@link Scope.fail}: `open() "/nodir/a.log" failed (2: No such file or directory)`
   */
  abstract open(path: string, onLost?: (reason: string) => void): LogFile;
  /** Files whose names are known with each line only. Without a cache they are opened for the line, and closed after it. */
  abstract named(cache?: LogFileCache): NamedLogFiles;
}
export interface LogFile {
  write(line: string): void;
  /**
   * Ends one use of the file. It is closed when as many are ended as were begun by opening it.
   * @param isUnused the change that opened it did not come into force: a file that was made for it goes again
   */
  close(isUnused?: boolean): void;
}
/** How long such files stay open (open_log_file_cache). */
export interface LogFileCache {
  /** Files that may be open; then the one used longest ago is closed. */
  readonly max: number;
  /** Time without a line after which a file is closed. */
  readonly inactiveMs: number;
  /** Lines within that time that a file needs to stay open. */
  readonly minUses: number;
  /** Time after which it is checked that the file still has its name. */
  readonly validMs: number;
}
export interface NamedLogFiles {
  /** @throws Error in nginx's words: `open() "/nodir/a.log" failed (2: No such file or directory)` */
  write(path: string, line: string): void;
  /** Closes what is open. Nothing may be written afterwards. */
  close(): void;
}

/**
 * What a transaction does to the tree. `text` is one directive with its block, parsed alone: it cannot reach outside; or a directive made of
 * data, which may have text of a caller in its block. An addition goes in front of `before`, a directive of the same block, or to the end; to
 * the end only where a state file holds such directives.
 */
export type Edit =
  | { readonly op: 'add'; readonly parent: Directive; readonly text: string | NewDirective; readonly before?: Directive }
  | { readonly op: 'replace'; readonly target: Directive; readonly text: string | NewDirective }
  | { readonly op: 'remove'; readonly target: Directive };

export interface Applied {
  /** Version of the tree after it; grows by one with every transaction. */
  readonly version: number;
  /** For each edit the directive that is now in the tree (for `remove`: that was). */
  readonly directives: readonly Directive[];
  /** Of a dry run, the change as lines of a configuration diff: `+ server 10.0.0.1:80;`. Otherwise empty: nobody reads it. */
  readonly diff: readonly string[];
}

/** The one way to change the configuration: validated, journalled, in force in every worker when the promise resolves. Master only. */
export abstract class Transactions {
  /** The tree in force. */
  abstract readonly tree: Block;
  abstract readonly version: number;
  /**
   * Version of one directive: another one as soon as it or anything in it has changed, the same after a restart. For `ETag` and `If-Match`.
   * The first time it is asked for after a change takes time that grows with the directive.
   */
  abstract versionOf(directive: Directive): string;
  /**
   * A directive as it would be in the tree, to look at what a caller sent. Only its form is checked, not what is in it.
   * @throws ApiError 400 `ConfigError`
   */
  abstract read(directive: NewDirective): Directive;
  /** True for a directive that the API added; false for one of the configuration file, also where the API changed it. */
  abstract isAddition(directive: Directive): boolean;
  /**
   * Carries out all edits or none. `build` runs when the transaction has its turn and sees the tree it will change; what it throws
   * reaches the caller and changes nothing. It runs again where what it was tried together with cannot come into force: it has no effect of its own.
   * @throws ApiError 400 `ConfigError` with every reason; 503 `DataPlaneUnavailable` when a worker did not respond in time.
   */
  abstract apply(build: (tree: Block) => readonly Edit[], context?: Partial<ActionContext>): Promise<Applied>;
}

/** The control plane's line to the data plane. */
export abstract class DataPlane {
  /** Calls an action of a data-plane module; 2 s without a reply is ApiError 503 `DataPlaneUnavailable`. */
  abstract call<T>(action: string, params: unknown, context: ActionContext): Promise<T>;
}

/** The REST API of this control-plane process: all routes of all loaded control modules. */
export abstract class ApiRoutes {
  /** Keys of the control modules, the first parts of paths below `/v1/`, and of the settings. */
  abstract readonly keys: ReadonlySet<string>;
  /** Keys of the settings, in order. */
  abstract readonly settings: readonly string[];
  /** The handlers of a location that holds the API or a part of it. @throws ConfigError where anybody could use it */
  abstract location(place: ApiPlace): HttpHandlers;
  /** The error handler of a server with such locations, for requests that no location was found for. */
  abstract errors(places: readonly ApiPlace[]): (request: HttpRequest, status: number) => ErrorBody;
  /**
   * What a location requires of clients, if it holds the API. To be called while the location is compiled, before {@link location} is.
   * @param settings called where the location holds the API
   */
  abstract protect(scope: Scope, settings: () => ApiAccessSettings): void;
  /**
   * Carries out calls that change the configuration as one change, all or none. Each goes through its own route, with the rights of the
   * client that sent `call`, and sees what those before it made. Nothing has changed if a response is an error, and in a dry run.
   * @throws ApiError what concerns no single call: 412 `VersionMismatch`, 503 `DataPlaneUnavailable`
   */
  abstract transact(call: Call, calls: readonly CarriedCall[]): Promise<CarriedOut>;
}
/** A call that another one carries. */
export interface CarriedCall extends Preconditions {
  readonly method: string;
  /** From `/v1/` on, with its query. */
  readonly path: string;
  readonly body?: unknown;
}
export interface CarriedOut {
  /** Of the configuration. */
  readonly version: number;
  /** In the order of the calls. One that is not wrong has 424 `NotApplied` where another one is. */
  readonly responses: readonly CarriedResponse[];
  /** Of a dry run, see {@link Applied.diff}. */
  readonly diff: readonly string[];
}
export interface CarriedResponse {
  readonly status: number;
  /** `ETag` and `Location`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
/** A location that holds the API, or a part of it. */
export interface ApiPlace {
  /** The location: its path stands in front of {@link root} in the URLs of the API. */
  readonly scope: Scope;
  /** What the location stands for: empty for the whole API, `/v1/kv` for one module's part. */
  readonly root: string;
}

/** What a helper process runs in: given to the module that a `helper` line names. */
export abstract class HelperHost {
  /** Absolute path of the helper's configuration. */
  abstract readonly conf: string;
  /** Starts the same core as a control-plane server on {@link conf}; resolves when it listens. */
  abstract serve(): Promise<void>;
  abstract close(): Promise<void>;
}

/** The meeting place of a node's processes, as its broker sees it: where to listen, and who may do what. */
export abstract class BusAccess {
  /** Path of the unix socket. */
  abstract readonly socket: string;
  /** Longest packet in bytes. */
  abstract readonly maxPacket: number;
  abstract authenticate(clientId: string, user: string | undefined, password: Buffer | undefined): boolean;
  /** True for a program that reads events: it gets what it is quick enough for. */
  abstract isReader(clientId: string): boolean;
  abstract mayPublish(clientId: string, topic: string): boolean;
  /** Whether the broker keeps a message for those who subscribe later. */
  abstract mayRetain(clientId: string, topic: string): boolean;
  abstract maySubscribe(clientId: string, topic: string): boolean;
}

/** The key-value store: each worker reads its own copy; writes are made in the master, kept on disk and everywhere when they resolve. */
export abstract class KeyValue {
  abstract get(key: string): string | undefined;
  /** The version of a key's value, for compare-and-set. */
  abstract version(key: string): string | undefined;
  /** @param ttl milliseconds until it expires; 0 never. @throws ApiError 413 `KeyTooLong`, `ValueTooLarge`, 507 `StoreFull`, 412 `VersionMismatch` */
  abstract set(key: string, value: string, options?: PairWrite & { ttl?: number }): Promise<void>;
  /** False if there was no such key. */
  abstract delete(key: string, options?: PairWrite): Promise<boolean>;
  /** Deletes all keys, in one step. How many they were. */
  abstract clear(options?: { readonly dryRun?: boolean }): Promise<number>;
  /** Milliseconds until a key expires, 0: never. Undefined: there is no such key. */
  abstract ttl(key: string): number | undefined;
  /** Keys in order, those after `after`, with their values: at most `limit`, and one at least however many bytes it has. */
  abstract list(options: { prefix?: string; after?: string; limit: number; maxBytes?: number }): KeyValuePage;
  /** Where it lies and what it holds at most. Another folder counts from the next start on. */
  abstract configure(settings: KeyValueSettings): void;
}
export interface KeyValuePage {
  readonly pairs: readonly { readonly key: string; readonly value: string }[];
  /** There are further keys behind the last one. */
  readonly more: boolean;
}
export interface PairWrite extends Preconditions {
  readonly dryRun?: boolean;
}
export interface KeyValueSettings {
  /** Absolute; undefined: the data folder of the server. */
  readonly folder: string | undefined;
  /** Bytes of all keys and values, of one key and of one value. */
  readonly maxSize: number;
  readonly maxKey: number;
  readonly maxValue: number;
}

/** State of a member, the first of these that holds. `resolving`: it is a name that has no address yet, or none any more. */
export type PeerState = 'resolving' | 'down' | 'unhealthy' | 'draining' | 'checking' | 'unavail' | 'up';

/** A member of an upstream with its figures over all workers. */
export interface PeerView {
  readonly id: number;
  /** `ip:port`, `[v6]:port`, `unix:/path`. */
  readonly server: string;
  /** As written in the configuration. */
  readonly name: string;
  readonly directive: Directive;
  /** Id of the `server` line, if its name is looked up again and again and this is one of its addresses. */
  readonly parent?: number;
  readonly backup: boolean;
  readonly weight: number;
  readonly maxConns: number;
  readonly state: PeerState;
  readonly active: number;
  readonly requests: number;
  /** Responses by class, index 1 is 1xx. */
  readonly responses: readonly number[];
  readonly codes: Readonly<Record<string, number>>;
  readonly sent: number;
  readonly received: number;
  /** Failed attempts, and how often it became unavailable. */
  readonly fails: number;
  readonly unavail: number;
  readonly health: HealthFigures;
  /** Milliseconds it was unavailable, unhealthy or not checked yet, and since when it is (epoch ms, 0: it is not). */
  readonly downtime: number;
  readonly downstart: number;
  /** When it was last chosen (epoch ms, 0: never). */
  readonly selected: number;
  /** Moving averages, ms: to a connection (of sessions alone), to the head or the first byte, to the end. */
  readonly connectTime: number;
  readonly headerTime: number;
  readonly responseTime: number;
}

/** Requests that wait for a member (`queue`). */
export interface QueueView {
  /** Those that wait now, and how many may. */
  readonly size: number;
  readonly maxSize: number;
  /** Requests that found the queue full. */
  readonly overflows: number;
}

export interface UpstreamView {
  readonly name: string;
  readonly directive: Directive;
  /** Name of its zone; undefined: static, not to be changed by API. */
  readonly zone: string | undefined;
  /** Idle connections to members in all workers. */
  readonly keepalive: number;
  /** Members that are removed but still busy. */
  readonly zombies: number;
  /** Undefined: it has none. */
  readonly queue: QueueView | undefined;
  /** With the `server` lines whose names have no address. */
  readonly peers: Iterable<PeerView>;
  readonly size: number;
  peer(id: number): PeerView | undefined;
  /** The addresses of a `server` line whose name is looked up again and again. Undefined: its addresses stay as they are. */
  addresses(line: Directive): readonly PeerView[] | undefined;
  /** Sets its statistics to zero; members stay. */
  resetStatistics(): void;
}

/** The upstreams in force. */
export abstract class Upstreams {
  abstract get(name: string): UpstreamView | undefined;
  abstract all(): Iterable<UpstreamView>;
}

/** When an attempt at a member counts as failed and the next one is asked (proxy_next_upstream). */
export interface NextUpstream {
  readonly error: boolean;
  readonly timeout: boolean;
  readonly invalidHeader: boolean;
  readonly nonIdempotent: boolean;
  /** Statuses that send the request on: 500, 502, 503, 504, 403, 404, 429. */
  readonly statuses: ReadonlySet<number>;
  /** 0: no limit. */
  readonly tries: number;
  /** Milliseconds; 0: no limit. */
  readonly timeoutMs: number;
}

/**
 * The request target sent to the upstream. `same`: the client's. `replace`: the part of the path that matched the location (its first
 * `length` characters) becomes `by`. `template`: this text.
 */
export type UriPlan =
  | { readonly kind: 'same' }
  | { readonly kind: 'replace'; readonly length: number; readonly by: string }
  | { readonly kind: 'template'; readonly text: Template };

/** How responses of members are buffered for slow clients (proxy_buffering and its company). Sizes in bytes. */
export interface ResponseBuffering {
  readonly enabled: boolean;
  /** Longest head of a response (proxy_buffer_size). */
  readonly headSize: number;
  /** What is held in memory (proxy_buffers). */
  readonly memory: number;
  /** Most that is read from the temporary file at once (proxy_busy_buffers_size). */
  readonly readSize: number;
  /** Most that is written to it at once (proxy_temp_file_write_size). */
  readonly writeSize: number;
  /** Longest temporary file (proxy_max_temp_file_size); 0: none. */
  readonly maxFileSize: number;
  /** Folder of the files (proxy_temp_path), and how many digits of a name make the name of each level of folders in it. */
  readonly folder: string;
  readonly levels: readonly number[];
  /** Bytes a second that are read from the member while the response is buffered (proxy_limit_rate); 0: as they come. */
  readonly limitRate: number;
}

/** How one location talks to its upstream; made once when it is compiled. */
export interface ExchangePlan {
  /** Upstream name or `host:port`; known at compile time if constant. */
  readonly target: Template;
  readonly scheme: 'http' | 'https';
  /** For `https`: settings and, by request, the name that the certificate has to be for. */
  readonly tls: UpstreamTls;
  readonly tlsName: Template;
  readonly defaultPort: number;
  /** Method sent instead of the client's (proxy_method). */
  readonly method: Template | undefined;
  readonly uri: UriPlan;
  /** Fields of the client, lower case, that are not passed on because the plan brings its own or none. */
  readonly replaced: ReadonlySet<string>;
  /** Whether the client's other fields are passed on. */
  readonly passFields: boolean;
  /** The plan's own fields, each line ended with CRLF: Host first. */
  fields(request: HttpRequest): string;
  readonly connectTimeout: number;
  readonly sendTimeout: number;
  readonly readTimeout: number;
  readonly next: NextUpstream;
  /** HTTP version spoken: 1.0 closes after each response. */
  readonly version: '1.0' | '1.1';
  /** Field names of the response, lower case, that are not passed on. */
  readonly hidden: ReadonlySet<string>;
  /** Field names of the response, lower case, that have no effect on how it is processed (proxy_ignore_headers). */
  readonly ignored: ReadonlySet<string>;
  /** Rewrites Location (proxy_redirect); undefined: it stays as it is. */
  readonly rewriteLocation: ((location: string, request: HttpRequest) => string | undefined) | undefined;
  /** The client gets the ranges it asks for of any 200 whose length is known, whatever the member says of ranges. */
  readonly forceRanges: boolean;
  readonly interceptErrors: boolean;
  readonly buffering: ResponseBuffering;
  readonly ignoreClientAbort: boolean;
  readonly requestBuffering: boolean;
  readonly passBody: boolean;
  /** The location, so that `keepalive … local` keeps its connections apart. */
  readonly scope: object;
  /** Refuses the configuration at the directive that names the target, see {@link Scope.fail}. */
  fail(message: string, hint?: string): never;
}

/** Carries requests to upstream members: choice, connections, retries, bodies both ways, back-pressure. */
export abstract class Exchanges {
  /**
   * Makes the content handler for a plan. A constant target is looked up (and its name resolved) while the configuration is prepared;
   * what is wrong with it is reported there: `host not found in upstream "x"`.
   */
  abstract compile(plan: ExchangePlan): (request: HttpRequest) => Result | Promise<Result>;
  /**
   * What such a handler would do, for the `explain` of the module that has it: says which upstream would get what. Sends nothing.
   * @param handler as {@link compile} has made it
   */
  abstract explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result;
}

/** Joins clients with servers of their choice (CONNECT). */
export abstract class Tunnels {
  /** Takes the request over, which gets an error response if no address can be connected to. For handlers `connect`, which return DONE. */
  abstract open(request: HttpRequest, plan: TunnelPlan): TunnelFacts;
}

/** Looks up names of hosts that requests bring. Waits in no thread of the pool. */
export abstract class HostNames {
  /**
   * The addresses of a name, IPv6 and IPv4 in turn: from the servers of `resolver`, where the request is in a scope that has one, otherwise
   * from `/etc/hosts` and the name servers of the system. They are remembered for as long as DNS allows.
   * @throws Error (rejects) `no-such.example could not be resolved (3: Host not found)`, in nginx's words
   */
  abstract resolve(name: string, request?: HttpRequest): Promise<readonly string[]>;
}

/** Figures of this node over all workers (stub_status). */
export abstract class Statistics {
  abstract readonly accepted: number;
  abstract readonly handled: number;
  abstract readonly requests: number;
  abstract readonly active: number;
  abstract readonly reading: number;
  abstract readonly writing: number;
  abstract readonly waiting: number;
  /** TLS handshakes with clients: those that succeeded, those that failed, and those of the first that resumed a session. */
  abstract readonly handshakes: number;
  abstract readonly handshakesFailed: number;
  abstract readonly sessionReuses: number;
  /** @param place see {@link ServerStatus.workers} */
  abstract ofWorker(place: number): WorkerStatistics;
}
