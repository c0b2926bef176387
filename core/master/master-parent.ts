import type { GrantedFiles } from '../config/granted-files.js';
import type { Program } from '../upgrade/program.js';
import type { ELSEWHERE, SocketRequest } from '../net/socket-source.js';
import type { ReloadState } from './reload-file.js';
import type { BoundSockets, SendableSocket } from './bound-sockets.js';

/** For the error log. */
export interface Finding {
  readonly level: 'warn' | 'error';
  readonly text: string;
}

/** The process above a server that may do what the server may not. It ends with the server, and the server with it. */
export interface MasterParent extends BoundSockets {
  open(request: SocketRequest, worker: number): Promise<SendableSocket | typeof ELSEWHERE | undefined>;
  /**
   * Writes its own number into the pid file: it passes signals on.
   * @throws Error in the words of nginx
   */
  writePidFile(path: string): Promise<void>;
  /** Also done when the server ends. */
  removePidFile(path: string): void;
  /** Says beside the pid file how reloads went. */
  writeReloadState(state: Omit<ReloadState, 'pid'>): void;
  /** Starts the command of this server again, with the sockets that it holds. @param environment has the socket over which the servers speak */
  startProgram(environment: Readonly<Record<string, string>>): Program;
  /** That one serves: files of unix sockets are its own. */
  leave(): Promise<void>;
  /**
   * Closes unused sockets of the previous program. @returns messages about sockets of systemd
   */
  releaseRest(): Promise<readonly Finding[]>;
  /** Files that it has read for the server. */
  readonly granted: GrantedFiles;
  /**
   * Makes the log files and folders of the configuration as it is now, which the server cannot make, and reads its files again.
   * @throws Error
   */
  prepare(): Promise<void>;
}
