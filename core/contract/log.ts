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
