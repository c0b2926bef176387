import type { HttpRequest, Result, Template } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { FileAccess } from './file-access.js';
import { fileStatus, isForbidden, isNotFound, shown } from './file-errors.js';

/** Redirects a request for a folder to its first index file that exists, as nginx does. Undefined: it has none. */
export function findIndex(
  request: HttpRequest,
  folder: string,
  names: readonly Template[],
  access: FileAccess,
  log: Log,
  logsNotFound: boolean,
): Result | undefined {
  let isTested = false;
  for (const template of names) {
    const name = template.of(request);
    if (name.startsWith('/')) return request.redirect(name, request.args);
    const path = folder + name;
    const failure = failureOf(access, path, request);
    if (failure === undefined) return request.redirect(request.uri + name, request.args);
    const { code } = failure as NodeJS.ErrnoException;
    if (code !== 'ENOENT')
      return isNotFound(failure) || isForbidden(failure)
        ? indexStatus(failure)
        : fileStatus(failure, 'stat()', path, request, log, logsNotFound);
    if (!isTested) {
      const missing = failureOf(access, folder, request);
      if (missing !== undefined) return indexStatus(missing);
      isTested = true;
    }

    function indexStatus(error: unknown): number {
      const forbidden = isForbidden(error);
      if (forbidden || logsNotFound) {
        log.write('error', `"${shown(path)}" is ${forbidden ? 'forbidden' : 'not found'} (${systemErrorText(error)})`, request);
      }
      return forbidden ? 403 : 404;
    }
  }
  return undefined;
}

/** Undefined: it exists. */
function failureOf(access: FileAccess, path: string, request: HttpRequest): unknown {
  try {
    access.status(path, request);
    return undefined;
  } catch (error) {
    return error;
  }
}
