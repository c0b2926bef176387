import type { LogFile, NamedLogFiles } from '../contract/log-files.js';
import { AppendedLogFiles } from './log-files.js';

const NOWHERE: LogFile & NamedLogFiles = { write: () => undefined, close: () => undefined };

/** For a run that only looks at a configuration: nothing is opened, and lines go nowhere, those for the standard error stream excepted. */
export class UnwrittenLogFiles extends AppendedLogFiles {
  readonly #stderr: LogFile;

  constructor(stderr: (text: string) => void) {
    super();
    this.#stderr = { write: (line) => stderr(`${line}\n`), close: () => undefined };
  }

  override open(path: string): LogFile {
    return path === 'stderr' ? this.#stderr : NOWHERE;
  }

  override openMakingDirectories(path: string): LogFile {
    return this.open(path);
  }

  override named(): NamedLogFiles {
    return NOWHERE;
  }
}
