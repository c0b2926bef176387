import type { LogLevel } from '../contract/log.js';

/** All levels, the most severe first: the order nginx compares them in. */
export const LOG_LEVELS: readonly LogLevel[] = ['emerg', 'alert', 'crit', 'error', 'warn', 'notice', 'info', 'debug'];

/** The rank of a level: 0 is `emerg`. A log with threshold `t` takes a line of level `l` when `severity(l) <= severity(t)`. */
export function severity(level: LogLevel): number {
  return LOG_LEVELS.indexOf(level);
}
