import type { HttpRequest, Result, Template } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { FileAccess } from './file-access.js';
import { fileStatus, isForbidden, isNotFound, shown } from './file-errors.js';

/** The look for the index file of a folder, as nginx makes it. */
export class IndexSearch {
  /** The folder itself exists. */
  #isTested = false;
  /** Paths that a disk was asked for. */
  #prepared: Set<string> | undefined = undefined;

  constructor(
    private readonly request: HttpRequest,
    private readonly folder: string,
    private readonly names: readonly Template[],
    private readonly access: FileAccess,
    private readonly log: Log,
    private readonly logsNotFound: boolean,
  ) {}

  /** Redirects the request to the first index file that exists. Undefined: the folder has none. */
  run(): Result | undefined | Promise<Result | undefined> {
    return this.#goOn(0);
  }

  /** @param at the next name to look for */
  #goOn(at: number): Result | undefined | Promise<Result | undefined> {
    const { request, folder, names } = this;
    for (let next = at; next < names.length; next++) {
      const name = names[next]?.of(request) ?? '';
      if (name.startsWith('/')) return request.redirect(name, request.args);
      const path = folder + name;
      const found = this.#test(path);
      if (found === undefined) return this.#after(path, next);
      if (found === true) return request.redirect(request.uri + name, request.args);
      const isMissing = (found as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing) return this.#failed(path, found);
      if (this.#isTested) continue;
      const around = this.#test(folder);
      if (around === undefined) return this.#after(folder, next);
      if (around !== true) return this.#status(path, around);
      this.#isTested = true;
    }
    return undefined;
  }

  /** Goes on when the system has looked a path up. */
  #after(path: string, at: number): Promise<Result | undefined> {
    (this.#prepared ??= new Set()).add(path);
    return this.access.prepare(path).then(() => this.#goOn(at));
  }

  /** True: it exists. An error: it does not. Undefined: a disk has to be asked. */
  #test(path: string): unknown {
    try {
      return this.access.status(path, this.request, this.#prepared?.has(path) === true) === undefined ? undefined : true;
    } catch (error) {
      return error;
    }
  }

  #failed(path: string, error: unknown): Result {
    if (isNotFound(error) || isForbidden(error)) return this.#status(path, error);
    return fileStatus(error, 'stat()', path, this.request, this.log, this.logsNotFound);
  }

  #status(path: string, error: unknown): Result {
    const forbidden = isForbidden(error);
    if (forbidden || this.logsNotFound) {
      const text = `"${shown(path)}" is ${forbidden ? 'forbidden' : 'not found'} (${systemErrorText(error)})`;
      this.log.write('error', text, this.request);
    }
    return forbidden ? 403 : 404;
  }
}
