import { stat } from 'node:fs/promises';
import { DECLINED, type Handler, type HttpRequest, type Result, type Scope, type Template } from '../../core/module/http.js';
import type { Log } from '../../core/module/services.js';
import { bytesOf, fileStatus, isNotFound } from './file-errors.js';
import type { Root, Roots } from './roots.js';

/** What `try_files` does: the first file that exists is the path of the request from then on, else the last word says what to do. */
export function tryFiles(words: readonly Template[], scope: Scope, roots: Roots, log: Log): Handler {
  const files = words.slice(0, -1);
  const last = lastOf(words.at(-1), scope);
  const root = roots.of(scope);
  return async (request) => {
    const { signal } = request;
    for (const file of files) {
      const uri = file.of(request);
      if (!(await exists(request, roots.tried(root, request, uri), log))) continue;
      if (!signal.aborted) enter(request, root, uri);
      return DECLINED;
    }
    return last(request);
  };
}

function lastOf(template: Template | undefined, scope: Scope): (request: HttpRequest) => Result {
  const { constant } = template ?? {};
  if (constant?.startsWith('=')) {
    const status = /^=\d{1,3}$/.test(constant) ? Number(constant.slice(1)) : scope.fail(`invalid code "${constant.slice(1)}"`, 'try_files');
    return () => status;
  }
  return (request) => {
    const target = template?.of(request) ?? '';
    if (target.startsWith('@')) return request.redirectNamed(target);
    const question = target.indexOf('?');
    return question < 0 ? request.redirect(target) : request.redirect(target.slice(0, question), target.slice(question + 1));
  };
}

/** A slash at the end asks for a folder. */
async function exists(request: HttpRequest, path: string, log: Log): Promise<boolean> {
  try {
    const isFolder = path.endsWith('/');
    return (await stat(bytesOf(isFolder ? path.slice(0, -1) : path))).isDirectory() === isFolder;
  } catch (error) {
    if (!isNotFound(error)) fileStatus(error, 'stat()', path, request, log, false);
    return false;
  }
}

function enter(request: HttpRequest, { alias }: Root, file: string): void {
  const location = alias?.location ?? '';
  const uri = file.startsWith(location) ? file : location + file;
  if (uri !== request.uri) request.rewrite(uri, request.args);
}
