/** The error log, as modules write to it. */
import type { HttpRequest } from './http.js';
import type { StreamSession } from './stream.js';

export type LogLevel = 'debug' | 'info' | 'notice' | 'warn' | 'error' | 'crit' | 'alert' | 'emerg';

/** `number`: that of its connection only, for a text that has the rest itself. */
export type SubjectDetail = 'all' | 'number';

/** The error log. Lines look like nginx's: the module's name, then `text`, then what is known of a request or session: client, server, upstream. */
export abstract class Log {
  /** @param detail what the line says of its subject. Default: `all` */
  abstract write(level: LogLevel, text: string, subject?: HttpRequest | StreamSession, detail?: SubjectDetail): void;
  /** True if lines of that level are written. @param subject what they are about: its server may have a log of its own */
  abstract enabled(level: LogLevel, subject?: HttpRequest | StreamSession): boolean;
}

/** One line of the error log with its fields apart. Texts have no control characters. */
export interface LogRecord {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly level: LogLevel;
  /** Process and thread: `4711#2`. */
  readonly origin: string;
  readonly message: string;
  /** Number of the client's connection. Absent, as all fields below: the line is not about a request or session, or it does not have it. */
  readonly connection?: number;
  readonly client?: string;
  /** Name of the server; of a session the address it is served at. */
  readonly server?: string;
  /** The request line. */
  readonly request?: string;
  /** The request at the member in use, or the address of the member of a session. */
  readonly upstream?: string;
  readonly host?: string;
  readonly requestId?: string;
}

/** The lines of the error log of this thread as they are written, whichever file they go to. Since api `'1.2'`. */
export abstract class LogRecords {
  /**
   * Calls `listener` with each line that some log writes, from now on. Lines that it writes itself are not passed to it. One
   * that throws gets no further lines.
   * @returns ends that
   */
  abstract follow(listener: (record: LogRecord) => void): () => void;
}
