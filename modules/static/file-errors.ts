/** Responses to errors of the file system, with nginx's statuses and wording. */
import type { HttpRequest } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';

const NOT_FOUND = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

export function isNotFound(error: unknown): boolean {
  return NOT_FOUND.has((error as NodeJS.ErrnoException).code ?? '');
}

export function isForbidden(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'ELOOP';
}

/** Logs a call that failed. @returns the status to respond with. @throws what is not an error of the file system */
export function fileStatus(error: unknown, call: string, path: string, request: HttpRequest, log: Log, logsNotFound: boolean): number {
  if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  const status = isNotFound(error) ? 404 : isForbidden(error) ? 403 : 500;
  if (status !== 404 || logsNotFound) {
    log.write(status === 500 ? 'crit' : 'error', `${call} "${shown(path)}" failed (${systemErrorText(error)})`, request);
  }
  return status;
}

/** A path as the file system takes it: ours are texts of bytes. */
export function bytesOf(path: string): Buffer | string {
  return /[\x80-\xff]/.test(path) ? Buffer.from(path, 'latin1') : path;
}

export function shown(path: string): string {
  return bytesOf(path).toString();
}
