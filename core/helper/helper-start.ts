import type { FileContents } from '../config/granted-files.js';
import type { ControlListener } from '../net/control-listeners.js';
import type { SocketRequest } from '../net/socket-source.js';
/** A socket that a helper has, or gets from the program before. */
export interface HelperSocket {
  /** See SocketRequest.key. */
  readonly key: string;
  readonly descriptor: number;
}

/** Start data of a helper process. */
export interface HelperStart {
  readonly kind: 'broker' | 'ctrl';
  /** The module as the `helper` line names it. */
  readonly module: string;
  /** The module comes with srv. */
  readonly isShipped: boolean;
  /** Absolute path of its configuration. */
  readonly conf: string;
  readonly prefix: string;
  /** Error log of a configuration that names none. */
  readonly errorLog: string;
  /** Path of address and credentials of the bus. */
  readonly bus: string;
  /** Numbers that the process is born with. */
  readonly sockets?: readonly HelperSocket[];
}

/** Services of the master for a helper. */
export interface HelperRights {
  /** Files that it may not read. */
  readonly files: FileContents;
  /** It asks the master for its sockets. */
  readonly asksForSockets: boolean;
}

/** Messages of the master to a helper. It ends with the channel. */
export type ToHelper =
  | { readonly kind: 'start'; readonly start: HelperStart; readonly rights: HelperRights }
  | { readonly kind: 'reload'; readonly files: FileContents }
  /** The socket that it has asked for is attached; or it has an error code. */
  | { readonly kind: 'socket'; readonly id: number; readonly error?: string }
  | { readonly kind: 'reopen' }
  /** The data plane knows where it listens. One for each message. */
  | { readonly kind: 'known' }
  /** Send the sockets that are open: each comes with its own message. */
  | { readonly kind: 'openSockets' }
  /** Finish the calls that are under way, and end. Another program listens on the same sockets. */
  | { readonly kind: 'quit' }
  /** Respond at once, whatever else there is to do. */
  | { readonly kind: 'ping' };

export type FromHelper =
  /** It listens there, or is about to: waits until it is `known`. */
  | { readonly kind: 'listens'; readonly listeners: readonly ControlListener[] }
  /** It does its work, and listens there. */
  | { readonly kind: 'ready'; readonly addresses: readonly string[] }
  /** It cannot do its work, and ends. */
  | { readonly kind: 'refused'; readonly reasons: readonly string[] }
  | { readonly kind: 'socket'; readonly id: number; readonly request: SocketRequest }
  | { readonly kind: 'release'; readonly key: string }
  /** With a handle of Node.js. */
  | { readonly kind: 'openSocket'; readonly key: string }
  /** All were sent. */
  | { readonly kind: 'openSockets' }
  | { readonly kind: 'pong' };
