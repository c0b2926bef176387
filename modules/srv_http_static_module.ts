import { realpathSync } from 'node:fs';
import { choice, flag, number, optional, rest, size, template, text } from '../core/module/args.js';
import type { HttpHandlers, HttpRequest, Result, Scope, Template } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { Log, ServerInfo } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import { bytesOf, shown } from './srv_http_static_module/file-errors.js';
import { sendFile, type FileSettings } from './srv_http_static_module/file-response.js';
import { findIndex } from './srv_http_static_module/index-file.js';
import { tryFiles } from './srv_http_static_module/try-files.js';
import { Roots, type Root } from './srv_http_static_module/roots.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

const directives = {
  root: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: template('path'),
    default: 'html',
    doc: 'Folder of the files: the path of a request follows it.',
  }),
  alias: directive({ in: ['location'], args: template('path'), doc: 'Folder of the files, in place of the prefix of the location.' }),
  index: directive({
    in: ANYWHERE,
    args: { files: rest(template('file')) },
    default: 'index.html',
    doc: 'Files that a request for a folder gets, the first that exists; a path with a slash in front is not looked for.',
  }),
  try_files: directive({
    in: ['server', 'location'],
    args: { files: rest(template('file'), 2) },
    inherit: 'none',
    doc: 'Serves the first of the files that exists; else the last word says what to do: =code, a named location, or another URI.',
  }),
  max_ranges: directive({
    in: ANYWHERE,
    args: number(),
    doc: 'Most ranges of a request, else it gets the whole file; 0: ranges are ignored.',
  }),
  etag: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Whether files have an ETag, made of their time and their size.' }),
  if_modified_since: directive({
    in: ANYWHERE,
    args: choice('off', 'exact', 'before'),
    default: 'exact',
    doc: 'How If-Modified-Since is compared with the time of a file.',
  }),
  log_not_found: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Whether files that do not exist are logged.' }),
  sendfile_max_chunk: directive({ in: ANYWHERE, args: size(), default: '2m', doc: 'Accepted: files are sent in pieces of 64k.' }),
  aio: directive({
    in: ANYWHERE,
    args: text('on | off | threads[=pool]'),
    default: 'off',
    doc: 'Accepted: files are always read by other threads.',
  }),
  directio: directive({ in: ANYWHERE, args: text('size | off'), default: 'off', doc: 'Accepted; has no effect.' }),
  directio_alignment: directive({ in: ANYWHERE, args: size(), default: '512', doc: 'Accepted; has no effect.' }),
  output_buffers: directive({
    in: ANYWHERE,
    args: { count: number({ min: 1 }), size: optional(size()) },
    default: '2 32k',
    doc: 'Accepted: files are read in pieces of 64k.',
  }),
  read_ahead: directive({ in: ANYWHERE, args: size(), default: '0', doc: 'Accepted; has no effect.' }),
};

type StaticScope = Scope<typeof directives>;

/** Files: the content of every location that has no other. */
@httpModule({ name: 'srv_http_static_module', api: 1, directives })
export class Static {
  readonly #roots: Roots;

  constructor(
    private readonly log: Log,
    info: ServerInfo,
  ) {
    this.#roots = new Roots(info);
  }

  readonly variables = {
    document_root: (request: HttpRequest): string | undefined => this.#folder(request),
    realpath_root: (request: HttpRequest): string | undefined => this.#realFolder(request),
    request_filename: (request: HttpRequest): string | undefined => this.#roots.path(this.#roots.of(request.scope), request),
  };

  compile(scope: StaticScope): HttpHandlers {
    assertOneRoot(scope);
    const { conf } = scope;
    const root = this.#roots.of(scope);
    const settings = {
      etag: conf.etag,
      modifiedSince: conf.if_modified_since,
      logsNotFound: conf.log_not_found,
      maxRanges: conf.max_ranges ?? Infinity,
    };
    const { files } = conf.index;
    return {
      ...(conf.try_files && { precontent: tryFiles(conf.try_files.files, scope, this.#roots, this.log) }),
      defaultContent: (request) => this.#respond(request, root, files, settings),
    };
  }

  #respond(request: HttpRequest, root: Root, index: readonly Template[], settings: FileSettings): Result | Promise<Result> {
    const { method, uri } = request;
    if (uri.includes('\0')) return 400;
    const isFolder = uri.endsWith('/');
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return 405;
    const path = this.#roots.path(root, request);
    if (path === undefined) {
      this.log.write('alert', `"alias" cannot be used for "${shown(uri)}", which was rewritten`, request);
      return 500;
    }
    return isFolder ? this.#respondWithIndex(request, path, index, settings) : sendFile(request, path, settings, this.log);
  }

  async #respondWithIndex(request: HttpRequest, path: string, index: readonly Template[], settings: FileSettings): Promise<Result> {
    const found = await findIndex(request, path, index, this.log, settings.logsNotFound);
    if (found !== undefined) return found;
    this.log.write('error', `directory index of "${shown(path)}" is forbidden`, request);
    return 403;
  }

  #folder(request: HttpRequest): string {
    return this.#roots.folder(this.#roots.of(request.scope), request);
  }

  /** Synchronous, as variables are. */
  #realFolder(request: HttpRequest): string | undefined {
    try {
      return realpathSync(bytesOf(this.#folder(request)), 'latin1');
    } catch {
      return undefined;
    }
  }
}

/** nginx's rules for `root` and `alias`. */
function assertOneRoot(scope: StaticScope): void {
  if (!scope.own('alias')) return;
  if (scope.own('root')) scope.fail('"alias" directive is duplicate, "root" directive was specified earlier', 'alias');
  if (scope.directive?.args[0]?.text.startsWith('@') === true) {
    scope.fail('the "alias" directive cannot be used inside the named location', 'alias');
  }
}
