import type { HandlerModules } from '../../run/handler-modules.js';
import type { StreamHandler, StreamHandlers, StreamScope } from '../../contract/stream.js';
import type { NameResolver } from '../../net/dns/resolution.js';
import type { ListenGroup, ListenGroups } from '../../net/listen-groups.js';
import type { CompiledServer } from '../../net/server-compilation.js';
import type { ServerNames } from '../../net/server-names.js';
import type { ServerTls } from '../../net/server-tls.js';

/** The handlers of a server in the order they run: parallel arrays, so that the loop touches nothing else. */
export interface SessionSteps {
  readonly handlers: readonly StreamHandler[];
  /** For each handler the index of its phase in STREAM_PHASES. */
  readonly phases: Uint8Array;
  /** For each handler the place of its module among all: another server goes on after the same one. */
  readonly places: Uint16Array;
}

/** Settings of a server for the engine itself. Times in milliseconds, sizes in bytes. */
export interface StreamSettings {
  readonly prereadBufferSize: number;
  readonly prereadTimeout: number;
  /** 0: none. */
  readonly handlerTimeout: number;
  readonly proxyProtocolTimeout: number;
  /** Looks up the names that sessions bring; undefined: there is no `resolver`. */
  readonly resolver: NameResolver | undefined;
}

/** One compiled `server` block of `stream`. */
export interface StreamServer extends CompiledServer {
  readonly scope: StreamScope;
  /** First name of server_name as written: `$server_name`. */
  readonly name: string;
  readonly settings: StreamSettings;
  readonly steps: SessionSteps;
  readonly content: StreamHandler;
  readonly logHandlers: readonly NonNullable<StreamHandlers['log']>[];
  readonly attemptHandlers: readonly NonNullable<StreamHandlers['memberAttempt']>[];
  /** Which module a handler came from. */
  readonly modules: HandlerModules;
  readonly tls: ServerTls | undefined;
}

export type StreamServerNames = ServerNames<StreamServer>;
export type StreamListenGroup = ListenGroup<StreamServer>;
export type StreamListenGroups = ListenGroups<StreamServer>;
