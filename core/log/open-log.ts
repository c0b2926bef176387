import type { LogFile } from '../contract/log-files.js';

/** Entry of {@link AppendedLogFiles} for a name: a file, or a way to a syslog server. */
export interface OpenLog extends LogFile {
  /** One more user. */
  use(onLost: ((reason: string) => void) | undefined): this;
  /** Writes what waits. */
  flush(): void;
  /** Goes on in a new file of the same name. @throws LogFileError */
  reopen(): void;
  /** Ends it for all users. */
  shut(): void;
}
