import type { HandlerModules } from '../../run/handler-modules.js';
import type { ExplainHandler } from '../../contract/explain.js';
import type { Scope } from '../../contract/http.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { Directive } from '../../contract/tree.js';
import type { LocationTable } from './location-table.js';
import type { Location, Steps } from './location.js';
import type { ListenOptions } from '../../net/listen-options.js';
import type { ScopeNode } from '../../config/scope.js';
import type { ServerTls } from '../../net/server-tls.js';
import type { ListenGroup, ListenGroups } from '../../net/listen-groups.js';
import type { ServerName, ServerNames } from '../../net/server-names.js';
import type { Holdings } from '../../config/holdings.js';

/** Settings of a server before a location is chosen. */
export interface ServerSettings {
  readonly clientHeaderTimeout: number;
  /** large_client_header_buffers, max_headers. */
  readonly headLimits: HeadLimits;
  readonly mergeSlashes: boolean;
  /** http2: clients may speak HTTP/2. */
  readonly http2: boolean;
  /** http2_max_concurrent_streams. */
  readonly http2MaxStreams: number;
  /** http2_body_preread_size, in bytes. */
  readonly http2BodyPreread: number;
}

/** One compiled `server` block. */
export interface VirtualServer {
  readonly directive: Directive;
  readonly node: ScopeNode;
  /** Its own and those of {@link fallback}. */
  readonly holdings: Holdings;
  readonly scope: Scope;
  /** First name of server_name as written: `$server_name`. */
  readonly name: string;
  readonly names: readonly ServerName[];
  readonly listens: readonly ListenOptions[];
  readonly settings: ServerSettings;
  /** post_read and server_rewrite. */
  readonly steps: Steps;
  /** Which module a handler of them came from. */
  readonly modules: HandlerModules;
  /** As {@link Location.explainers}. */
  readonly explainers: ReadonlyMap<unknown, ExplainHandler>;
  readonly locations: LocationTable;
  /** Where a request is that no location matches, or that failed before one was chosen: the server's own settings and handlers. */
  readonly fallback: Location;
  /** Certificates and ciphers; undefined without any. */
  readonly tls: ServerTls | undefined;
}

/** Servers of one address by name. */
export type HttpServerNames = ServerNames<VirtualServer>;
/** Servers of one address, and all of them by address. */
export type HttpListenGroup = ListenGroup<VirtualServer>;
export type HttpListenGroups = ListenGroups<VirtualServer>;

/** How a request finds its location. */
export type LocationSearch = Pick<LocationTable, 'find' | 'named'>;

/** Settings of a server for its requests. */
export type RequestServer = Omit<VirtualServer, 'locations'> & { readonly locations: LocationSearch };
