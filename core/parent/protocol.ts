/** Messages between a server and its parent. Sockets are attached to the messages that name them. */
import type { FileContents } from '../config/granted-files.js';
import type { Finding } from '../master/master-parent.js';
import type { ReloadState } from '../master/reload-file.js';
import type { SocketRequest } from '../net/socket-source.js';
import type { CommandLine } from '../upgrade/program.js';

/** Command of the parent, and its user. Plain data: the command that starts the parent in the background sends it. */
export interface ParentStart {
  /** The command line of the server: the script with its arguments. */
  readonly command: readonly string[];
  /** The command that has started all this. */
  readonly line: CommandLine;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: Owner;
  /** Titles of processes. */
  readonly title: string;
  readonly prepared: PreparedServer;
}

/** Results of root's check of the configuration, and resources made for the server. */
export interface PreparedServer {
  /** Where the parent may write its number. */
  readonly pidFile: string;
  /** Unix sockets that the parent may bind. */
  readonly sockets: ReadonlySet<string>;
  /** Of the server. */
  readonly dataFolder: string;
  /** Error logs of the whole server, where the parent reports the end of it; undefined: the standard error stream. */
  readonly errorLogs: readonly (string | undefined)[];
  /** Files that the configuration names and the user may not read. */
  readonly files: FileContents;
}

/** A socket that a new parent gets from the one before. */
export interface GivenSocket {
  readonly request: SocketRequest;
  readonly worker: number;
  readonly descriptor: number;
}

/** Numbers of a user and a group. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Asks for something, and gets a {@link ParentResponse} with the same number. */
export type ParentRequest =
  /** Bind an address for workers that will ask for it. */
  | { readonly kind: 'reserve'; readonly socket: SocketRequest }
  /** The socket of a worker, or of a helper, which have numbers too. */
  | { readonly kind: 'socket'; readonly socket: SocketRequest; readonly worker: number }
  /** Closes the sockets of workers from that number on. */
  | { readonly kind: 'release workers'; readonly from: number }
  /** Makes the log files and folders of the configuration as it is now, and reads its files. */
  | { readonly kind: 'prepare' }
  /** Start the command again: its server speaks with this one over that socket. */
  | { readonly kind: 'upgrade'; readonly path: string }
  /** End what that has started. */
  | { readonly kind: 'end upgrade' }
  /** It serves: files of unix sockets are its own from now on. */
  | { readonly kind: 'leave' }
  /** Everybody has asked for what is needed: closes inherited sockets that are left. */
  | { readonly kind: 'release rest' }
  /** Writes the number of the parent into the file that the configuration names. */
  | { readonly kind: 'pid file'; readonly path: string };

export type FromServer =
  | { readonly kind: 'request'; readonly id: number; readonly request: ParentRequest }
  /** No worker will listen there any more. */
  | { readonly kind: 'release'; readonly key: string }
  /** Says beside the pid file how reloads went. */
  | { readonly kind: 'reloaded'; readonly state: Omit<ReloadState, 'pid'> }
  | { readonly kind: 'remove pid file'; readonly path: string }
  /** For the starter of the server. */
  | { readonly say: string }
  | { readonly ready: true };

/** Result of an upgrade. */
export type UpgradeNews =
  | { readonly kind: 'upgrade said'; readonly text: string }
  | { readonly kind: 'upgrade ended'; readonly how: string };

/** @property error code of the system, or a text */
export interface ParentResponse {
  readonly kind: 'response';
  readonly id: number;
  readonly error?: string;
  readonly files?: FileContents;
  /** The parent does not bind this socket: the server may try for itself. */
  readonly isRefused?: boolean;
  /** One socket serves all workers, and another one has it. */
  readonly isElsewhere?: boolean;
  /** About sockets of systemd. */
  readonly findings?: readonly Finding[];
  /** Number of a process that was started. */
  readonly pid?: number | undefined;
}
