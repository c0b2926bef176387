import { argType } from '../../core/contract/arg-type.js';
import { existsSync, realpathSync } from 'node:fs';
import { choice, flag, number, optional, param, rest, size, template, text, time, word } from '../../core/contract/args.js';
import { pathTemplate } from '../../core/contract/path-template.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type Result, type Scope, type Template } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { SystemFiles } from '../../core/contract/system-files.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { CompressedFiles, GzipNegotiation } from './compressed-files.js';
import { FileAccess } from './file-access.js';
import { bytesOf, shown } from './file-errors.js';
import { sendFile, type FileSettings } from './file-response.js';
import { folderDirectives } from './folder-directives.js';
import { redirectToRandom, sendListing, type AutoindexSettings } from './folder-response.js';
import { FileTexts } from './file-texts.js';
import { IndexSearch } from './index-file.js';
import { OpenFileCache, type CacheRules } from './open-file-cache.js';
import { DESCRIPTORS } from './symlinks.js';
import { explainTryFiles, rootText } from './explain.js';
import { tryFiles } from './try-files.js';
import { Roots, type Root } from './roots.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** A pool of threads has a name in nginx; here there is one. */
function aio(): ArgType<'on' | 'off' | 'threads'> {
  return argType({
    kind: 'text',
    form: 'on | off | threads[=pool]',
    parse(value) {
      if (value === 'on' || value === 'off') return value;
      if (value === 'threads' || value.startsWith('threads=')) return 'threads';
      throw new ArgError(`invalid value "${value}"`, 'one of: on, off, threads, threads=pool');
    },
  });
}

const directives = {
  ...folderDirectives,
  root: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: pathTemplate('path'),
    default: 'html',
    doc: 'Folder of the files: the path of a request follows it.',
  }),
  alias: directive({ in: ['location'], args: pathTemplate('path'), doc: 'Folder of the files, in place of the prefix of the location.' }),
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
  etag: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Sends an ETag, made of the time and the size of a file.' }),
  gzip_static: directive({
    in: ANYWHERE,
    args: choice('off', 'on', 'always'),
    default: 'off',
    doc: 'Sends the file with the suffix .gz that is beside the one that is asked for, to clients that take gzip (`on`), or to all.',
  }),
  if_modified_since: directive({
    in: ANYWHERE,
    args: choice('off', 'exact', 'before'),
    default: 'exact',
    doc: 'How If-Modified-Since is compared with the time of a file.',
  }),
  log_not_found: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Logs missing files.' }),
  open_file_cache: directive({
    in: ANYWHERE,
    args: { off: word('off'), max: param('max', number({ min: 1 })), inactive: param('inactive', time(), 60_000) },
    default: 'off',
    doc: 'Keeps up to `max` files open that were used within the time of `inactive`, in each worker, with their sizes and times; small files are kept in memory.',
  }),
  open_file_cache_valid: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Time after which what is kept is compared with the file again: for as long, a changed file may be sent as it was.',
  }),
  open_file_cache_min_uses: directive({
    in: ANYWHERE,
    args: number(),
    default: '1',
    doc: 'Uses within the time of `inactive` that a file needs to stay open.',
  }),
  open_file_cache_errors: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Caches errors as well, for example of missing files.',
  }),
  open_file_cache_events: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Accepted; has no effect.' }),
  disable_symlinks: directive({
    in: ANYWHERE,
    args: { mode: choice('off', 'on', 'if_not_owner'), from: param('from', template('part')) },
    default: 'off',
    doc: 'Rejects paths with symbolic links (`on`), or with links of another owner than what they point to (`if_not_owner`), with 403; with `from` only in the part of the path after that prefix.',
  }),
  aio: directive({
    in: ANYWHERE,
    args: aio(),
    default: 'off',
    doc: 'Reads files in the event loop (`off`), or in other threads (`threads`, `on`), which costs more processor time. With `off` and the method `epoll` the event loop reads what the system has in memory, and other threads wait for disks.',
  }),
  aio_write: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Accepted: other threads write temporary files.' }),
  directio: directive({ in: ANYWHERE, args: text('size | off'), default: 'off', doc: 'Accepted; has no effect.' }),
  directio_alignment: directive({ in: ANYWHERE, args: size(), default: '512', doc: 'Accepted; has no effect.' }),
  output_buffers: directive({
    in: ANYWHERE,
    args: { count: number({ min: 1 }), size: optional(size()) },
    default: '2 32k',
    doc: 'Accepted: files are read in pieces of up to 256k, one at a time.',
  }),
  read_ahead: directive({ in: ANYWHERE, args: size(), default: '0', doc: 'Accepted: the system reads ahead by itself.' }),
};

/** Response for a folder. */
interface FolderSettings {
  readonly index: readonly Template[];
  readonly isRandom: boolean;
  /** Undefined: folders are not listed. */
  readonly listing: AutoindexSettings | undefined;
}

type StaticScope = Scope<typeof directives>;

/** Files: the content of every location that has no other. */
@httpModule({ name: 'srv_http_static_module', api: '1.2', directives, needs: ['srv_http_gzip_module'] })
export class Static {
  readonly #roots: Roots;
  readonly #texts = new FileTexts();
  readonly #caches = new WeakMap<Directive, OpenFileCache>();
  /** By settings: handlers of the blocks that have none of these directives themselves, and in which files are found in the same way. */
  readonly #shared = new WeakMap<StaticScope['conf'], HttpHandlers>();

  constructor(
    private readonly log: Log,
    info: ServerInfo,
    private readonly clients: GzipNegotiation,
    private readonly files: SystemFiles,
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
    // An open cache belongs to one block, and the others depend on more than the settings of this module.
    const isShared = conf.try_files === undefined && conf.open_file_cache.off && !conf.autoindex;
    const known = isShared ? this.#shared.get(conf) : undefined;
    if (known !== undefined) return known;
    const handlers = this.#handlers(scope);
    if (isShared) this.#shared.set(conf, handlers);
    return handlers;
  }

  #handlers(scope: StaticScope): HttpHandlers {
    const { conf } = scope;
    const root = this.#roots.of(scope);
    const access = this.#access(scope);
    const settings: FileSettings = {
      access,
      texts: this.#texts,
      etag: conf.etag,
      modifiedSince: conf.if_modified_since,
      logsNotFound: conf.log_not_found,
      threads: conf.aio !== 'off',
      compressed: conf.gzip_static === 'off' ? undefined : new CompressedFiles(this.clients, conf.gzip_static === 'always'),
    };
    const folders: FolderSettings = {
      index: conf.index.files,
      isRandom: conf.random_index,
      listing: conf.autoindex
        ? {
            format: conf.autoindex_format,
            exactSize: conf.autoindex_exact_size,
            localTime: conf.autoindex_localtime,
            isUtf8: isUtf8(scope),
          }
        : undefined,
    };
    const uncached = { ...settings, access: this.#uncached(scope) };
    return {
      ...(conf.try_files && { precontent: tryFiles(conf.try_files.files, scope, this.#roots, access, this.log) }),
      defaultContent: (request) => this.#respond(request, root, folders, settings),
      explain: {
        ...(conf.try_files && {
          precontent: explainTryFiles(tryFiles(conf.try_files.files, scope, this.#roots, uncached.access, this.log), scope),
        }),
        defaultContent: (request, notes) => {
          notes.say(`looks for the file in ${rootText(scope)}`);
          const isListing = folders.listing !== undefined || folders.isRandom;
          if (isListing && request.uri.endsWith('/'))
            return notes.end('the index file, a random one or a listing of the folder, whichever there is');
          return this.#respond(request, root, folders, uncached) as Result;
        },
      },
    };
  }

  /** For explanations: what is looked at is not kept. */
  #uncached(scope: StaticScope): FileAccess {
    const { mode, from } = scope.conf.disable_symlinks;
    const symlinks = mode === 'off' ? undefined : { ifOwner: mode === 'if_not_owner', from };
    return new FileAccess(this.files, undefined, rulesOf(scope), symlinks, true);
  }

  #access(scope: StaticScope): FileAccess {
    const { conf } = scope;
    const rules = rulesOf(scope);
    const { mode, from } = conf.disable_symlinks;
    if (mode === 'off') return new FileAccess(this.files, this.#cache(scope), rules, undefined);
    if (!existsSync(DESCRIPTORS)) scope.fail(`"disable_symlinks" needs ${DESCRIPTORS}`, 'disable_symlinks', 'mount the proc file system');
    return new FileAccess(this.files, this.#cache(scope), rules, { ifOwner: mode === 'if_not_owner', from });
  }

  /** All scopes that one line holds for share what is open. */
  #cache(scope: StaticScope): OpenFileCache | undefined {
    const { off, max, inactive } = scope.conf.open_file_cache;
    const [line] = scope.lines('open_file_cache');
    if (off || line === undefined) return undefined;
    if (max === undefined) return scope.fail('"open_file_cache" must have the "max" parameter', line);
    const cache = this.#caches.get(line) ?? new OpenFileCache(max, inactive);
    this.#caches.set(line, cache);
    cache.retain();
    scope.register({ abort: () => cache.release(), release: () => cache.release() });
    return cache;
  }

  #respond(request: HttpRequest, root: Root, folders: FolderSettings, settings: FileSettings): Result | Promise<Result> {
    const { method, uri } = request;
    if (uri.includes('\0')) return 400;
    const isFolder = uri.endsWith('/');
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return 405;
    const path = this.#roots.path(root, request);
    if (path === undefined) {
      this.log.write('alert', `"alias" cannot be used for "${shown(uri)}", which was rewritten`, request);
      return 500;
    }
    return isFolder ? this.#respondWithFolder(request, path, folders, settings) : sendFile(request, path, settings, this.log);
  }

  #respondWithFolder(request: HttpRequest, path: string, folders: FolderSettings, settings: FileSettings): Result | Promise<Result> {
    if (!folders.isRandom) return this.#respondWithIndex(request, path, folders, settings);
    return redirectToRandom(request, path, this.log).then((result) =>
      result === DECLINED ? this.#respondWithIndex(request, path, folders, settings) : result,
    );
  }

  #respondWithIndex(request: HttpRequest, path: string, folders: FolderSettings, settings: FileSettings): Result | Promise<Result> {
    const { access, logsNotFound } = settings;
    const found = new IndexSearch(request, path, folders.index, access, this.log, logsNotFound).run();
    if (found instanceof Promise) return found.then((result) => result ?? this.#respondWithoutIndex(request, path, folders));
    return found ?? this.#respondWithoutIndex(request, path, folders);
  }

  #respondWithoutIndex(request: HttpRequest, path: string, folders: FolderSettings): Result | Promise<Result> {
    if (folders.listing !== undefined && request.method !== 'POST') return sendListing(request, path, folders.listing, this.log);
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

/** Value of `charset` for the texts of the location. */
function isUtf8(scope: StaticScope): boolean {
  return scope.lines('charset')[0]?.args[0]?.text.toLowerCase() === 'utf-8';
}

function rulesOf({ conf }: StaticScope): CacheRules {
  return { validMs: conf.open_file_cache_valid, minUses: conf.open_file_cache_min_uses, errors: conf.open_file_cache_errors };
}

/** nginx's rules for `root` and `alias`. */
function assertOneRoot(scope: StaticScope): void {
  if (!scope.own('alias')) return;
  if (scope.own('root')) scope.fail('"alias" directive is duplicate, "root" directive was specified earlier', 'alias');
  if (scope.directive?.args[0]?.text.startsWith('@') === true) {
    scope.fail('the "alias" directive cannot be used inside the named location', 'alias');
  }
}
