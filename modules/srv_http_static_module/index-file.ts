import { stat } from 'node:fs/promises';
import type { HttpRequest, Result, Template } from '../../core/module/http.js';
import type { Log } from '../../core/module/services.js';
import { systemErrorText } from '../../core/module/system-error.js';
import { bytesOf, fileStatus, isForbidden, isNotFound, shown } from './file-errors.js';

/** Redirects a request for a folder to its first index file that exists, as nginx does. Undefined: it has none. */
export async function findIndex(
  request: HttpRequest,
  folder: string,
  names: readonly Template[],
  log: Log,
  logsNotFound: boolean,
): Promise<Result | undefined> {
  // Asked for now: it tells what happens while the files are looked for.
  const { signal } = request;
  let isTested = false;
  for (const template of names) {
    const name = template.of(request);
    if (name.startsWith('/')) return request.redirect(name, request.args);
    const path = folder + name;
    const failure = await failureOf(path);
    if (signal.aborted) return undefined;
    if (failure === undefined) return request.redirect(request.uri + name, request.args);
    const { code } = failure as NodeJS.ErrnoException;
    if (code !== 'ENOENT')
      return isNotFound(failure) || isForbidden(failure)
        ? indexStatus(failure)
        : fileStatus(failure, 'stat()', path, request, log, logsNotFound);
    if (!isTested) {
      const missing = await failureOf(folder);
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

/** The error of `stat`; undefined: it exists. */
async function failureOf(path: string): Promise<unknown> {
  try {
    await stat(bytesOf(path));
    return undefined;
  } catch (error) {
    return error;
  }
}
