import type { LogFile, NamedLogFiles } from '../module/services.js';
import { AppendedLogFiles } from './log-files.js';

const NOWHERE: LogFile & NamedLogFiles = { write: () => undefined, close: () => undefined };

/** For a run that only looks at a configuration: nothing is opened, and lines go nowhere. Only the standard error stream is real. */
export class UnwrittenLogFiles extends AppendedLogFiles {
  override open(path: string): LogFile {
    return path === 'stderr' ? super.open(path) : NOWHERE;
  }

  override openMakingDirectories(path: string): LogFile {
    return this.open(path);
  }

  override named(): NamedLogFiles {
    return NOWHERE;
  }
}
