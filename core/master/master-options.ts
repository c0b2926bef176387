import type { IdSource } from '../config/tree.js';
import type { Installation } from '../kernel/installation.js';
import type { ConfigurationSource } from '../kernel/read-configuration.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import type { Predecessor } from '../upgrade/predecessor.js';
import type { Program } from '../upgrade/program.js';
import type { MasterParent } from './master-parent.js';

export interface MasterOptions {
  readonly installation: Installation;
  readonly prefix: string;
  readonly source: ConfigurationSource;
  readonly ids: IdSource;
  /** Places of shared state: of workers, and the last one of the program that this one replaces. */
  readonly places: number;
  readonly errorLog: string;
  readonly log: ErrorLog;
  readonly files: AppendedLogFiles;
  /** Says why a configuration is rejected, and returns it as the start would say it. */
  readonly report: (failure: unknown) => string;
  /** A process with more rights than this one. Undefined: there is none. */
  readonly parent?: MasterParent | undefined;
  /** The server that this one replaces. */
  readonly predecessor?: Predecessor | undefined;
  /** Called when this server serves, before the one that it replaces ends. */
  readonly takesOver?: () => Promise<void>;
  /** Starts the program again, with these descriptors. */
  readonly startProgram: (environment: Readonly<Record<string, string>>, descriptors: readonly number[]) => Program;
}
