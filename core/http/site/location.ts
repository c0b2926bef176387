import type { HandlerModules } from '../../run/handler-modules.js';
import type { ExplainHandler } from '../../contract/explain.js';
import type { Handler, HttpHandlers, Scope, Template } from '../../contract/http.js';
import type { Directive } from '../../contract/tree.js';
import type { NameResolver } from '../../net/dns/resolution.js';
import type { ContentTypes } from './content-types.js';
import type { LocationTable } from './location-table.js';
import type { ScopeNode } from '../../config/scope.js';
import type { StorePlan } from './temporary-path.js';
import type { Holdings } from '../../config/holdings.js';

/** How a location is chosen: its modifier and name. */
export type LocationMatch =
  | { readonly kind: 'exact' | 'prefix' | 'named'; readonly name: string }
  /** `^~`: when it is the longest prefix, regular expressions are not asked. */
  | { readonly kind: 'prefix-only'; readonly name: string }
  | { readonly kind: 'regex'; readonly name: string; readonly pattern: RegExp };

/** Settings of a location that the engine itself needs, read once when it is compiled. */
export interface LocationSettings {
  readonly clientMaxBodySize: number;
  readonly clientBodyBufferSize: number;
  readonly clientBodyStore: StorePlan;
  readonly clientBodyTimeout: number;
  readonly keepaliveTimeout: number;
  /** Field lines of a response whose connection stays open: the second argument of keepalive_timeout adds Keep-Alive. */
  readonly keepAliveFields: string;
  readonly keepaliveRequests: number;
  readonly keepaliveTime: number;
  /** Most ranges of a request, Infinity without a limit. */
  readonly maxRanges: number;
  readonly sendTimeout: number;
  /** Most bytes of a file that one call of sendfile sends; 0: files are read and written. */
  readonly sendFile: number;
  /** Undefined: no limit. */
  readonly limitRate: Template | undefined;
  readonly limitRateAfter: Template | undefined;
  /** http2_chunk_size, in bytes. */
  readonly http2ChunkSize: number;
  readonly lingering: Lingering;
  /** keepalive_disable. */
  readonly keepaliveDisable: readonly ('none' | 'msie6' | 'safari')[];
  /** Milliseconds; 0: no limit. */
  readonly handlerTimeout: number;
  readonly satisfyAny: boolean;
  readonly internal: boolean;
  readonly contentTypes: ContentTypes;
  readonly defaultType: string;
  readonly serverToken: string;
  readonly chunkedTransferEncoding: boolean;
  readonly absoluteRedirect: boolean;
  readonly portInRedirect: boolean;
  readonly serverNameInRedirect: boolean;
  readonly recursiveErrorPages: boolean;
  readonly errorPages: readonly ErrorPage[];
  /** Conditions of which one has to hold so that 103 responses of members are passed on. Empty: they never are. */
  readonly earlyHints: readonly Template[];
  /** Looks up the names that requests bring; undefined: there is no `resolver`. */
  readonly resolver: NameResolver | undefined;
  /** Redirect `/name` to `/name/` when the location is `/name/` and hands requests on (proxy_pass). */
  readonly autoRedirect: boolean;
}

/** How a connection with a client that may still be sending is closed: lingering_close, _time, _timeout. Milliseconds. */
export interface Lingering {
  readonly close: 'off' | 'on' | 'always';
  readonly time: number;
  readonly timeout: number;
}

/** One `error_page` line. `status` undefined: the original one is kept; 0: the one of the page itself. */
export interface ErrorPage {
  readonly codes: readonly number[];
  readonly status: number | undefined;
  readonly target: Template;
}

/** The steps of one location in the order they run: parallel arrays, so that the loop touches nothing else. */
export interface Steps {
  readonly handlers: readonly Handler[];
  /** For each handler the index of its phase in PHASES. */
  readonly phases: Uint8Array;
}

/** `limit_except`: requests with other methods are in a scope of their own. */
export interface LimitExcept {
  readonly methods: ReadonlySet<string>;
  readonly location: Location;
}

/** Handlers that a module has made for a block. */
export interface MadeHandlers {
  /** Of the module among all. */
  readonly place: number;
  readonly handlers: HttpHandlers;
}

/** One compiled location: everything that a request needs there, flat. Or a part of one: a block of `if` or `limit_except`. */
export interface Location {
  readonly match: LocationMatch;
  readonly directive: Directive | undefined;
  readonly node: ScopeNode;
  readonly holdings: Holdings;
  /** The blocks of `if`, by the id of the directive. Undefined without any. */
  readonly branches: ReadonlyMap<number, Location> | undefined;
  readonly limitExcept: LimitExcept | undefined;
  readonly scope: Scope;
  readonly settings: LocationSettings;
  readonly steps: Steps;
  /** Of a block of `if`: the step that a request goes on with which enters it. */
  readonly entry: number;
  readonly content: Handler | undefined;
  /** Makes the response where there is no {@link content}. */
  readonly defaultContent: Handler | undefined;
  /** Opens tunnels, see `connectLocation`. */
  readonly connect: Handler | undefined;
  /** Makes the body of error responses. */
  readonly error: HttpHandlers['error'];
  readonly headerFilters: readonly NonNullable<HttpHandlers['header']>[];
  /** They look at the responses of members. */
  readonly memberHandlers: readonly NonNullable<HttpHandlers['memberResponse']>[];
  /** They learn that a response of a member is dropped. */
  readonly replacedHandlers: readonly NonNullable<HttpHandlers['memberReplaced']>[];
  /** They look at requests before a member is asked. */
  readonly callHandlers: readonly NonNullable<HttpHandlers['memberRequest']>[];
  /** They look at requests that no member has responded to. */
  readonly callFailureHandlers: readonly NonNullable<HttpHandlers['memberFailure']>[];
  /** They look at the attempts at members. */
  readonly attemptHandlers: readonly NonNullable<HttpHandlers['memberAttempt']>[];
  readonly attemptEndHandlers: readonly NonNullable<HttpHandlers['memberAttemptEnd']>[];
  readonly logHandlers: readonly NonNullable<HttpHandlers['log']>[];
  /** Which module a handler came from. */
  readonly modules: HandlerModules;
  /** Handlers by the module that made them, in the order of the modules. */
  readonly made: readonly MadeHandlers[];
  /** Functions that explain a handler instead of running it. Empty in workers. */
  readonly explainers: ReadonlyMap<unknown, ExplainHandler>;
  readonly nested: LocationTable;
}
