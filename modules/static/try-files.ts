import { DECLINED, type Handler, type HttpRequest, type Result, type Scope, type Template } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import type { FileAccess } from './file-access.js';
import { fileStatus, isNotFound } from './file-errors.js';
import type { Roots } from './roots.js';

/** Effect of `try_files`: the first file that exists is the path of the request from then on, else the last word says what to do. */
export function tryFiles(words: readonly Template[], scope: Scope, roots: Roots, access: FileAccess, log: Log): Handler {
  const texts = scope.lines('try_files')[0]?.args.map(({ text }) => text);
  const files: readonly TriedFile[] = words.slice(0, -1).map((file, at) => ({ file, isFolder: texts?.[at]?.endsWith('/') === true }));
  const last = lastOf(words.at(-1), scope);
  const root = roots.of(scope);
  /** @param from the first word to try @param waits for a disk that has that one */
  const search = (request: HttpRequest, from: number, waits: boolean): Result | Promise<Result> => {
    for (let at = from; at < files.length; at++) {
      const { file, isFolder } = files[at] as TriedFile;
      const tried = roots.tried(root, request, file);
      // The slash says what is looked for, and is not a part of the name (nginx).
      const name = isFolder ? tried.slice(0, -1) : tried;
      const path = roots.folder(root, request) + name;
      const isThere = exists(request, path, isFolder, access, log, waits && at === from);
      if (isThere === undefined) return access.prepare(path).then(() => search(request, at, true));
      if (!isThere) continue;
      roots.enter(root, request, name, isFolder);
      return DECLINED;
    }
    return last(request);
  };
  return (request) => search(request, 0, false);
}

interface TriedFile {
  readonly file: Template;
  readonly isFolder: boolean;
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

/** Undefined without `waits`: a disk has to be asked. */
function exists(request: HttpRequest, path: string, isFolder: boolean, access: FileAccess, log: Log, waits: boolean): boolean | undefined {
  try {
    const status = access.find(path, request, waits);
    return status && status.isDirectory() === isFolder;
  } catch (error) {
    if (!isNotFound(error)) fileStatus(error, 'stat()', path, request, log, false);
    return false;
  }
}
