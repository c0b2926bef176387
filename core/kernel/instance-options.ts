import type { GrantedFiles } from '../config/granted-files.js';
import type { ErrorLog } from '../log/error-log.js';
import type { ServerIdentity } from './server-info.js';

export interface InstanceOptions extends ServerIdentity {
  readonly log: ErrorLog;
  /** False where another thread has checked every change already. */
  readonly validates: boolean;
  /** Takes warnings about the configuration; absent: the log. */
  readonly warn?: (message: string) => void;
  /** Longest time that a hook of a module may keep the main thread busy (ms). */
  readonly callMs?: number;
  /** Receives modules that a change has removed, to stop them or leave them alone; absent: they are stopped at once. */
  readonly retire?: (modules: RetiredModules) => void;
  /** Files that another process has read for this one. */
  readonly granted?: GrantedFiles | undefined;
  /** Called with the name of a module before a hook of it runs, and with undefined when that has returned. */
  readonly onCall?: (module: string | undefined) => void;
}

/** Removed modules. One of the two is called, once. */
export interface RetiredModules {
  /** Never rejects. */
  stop(): Promise<void>;
  /** Nothing of them is called any more. */
  leave(): void;
}
