import { resolve, dirname } from 'node:path';
import type { ParsedText } from '../config/parser.js';
import { IdSource, type DirectiveData } from '../config/tree.js';
import { mainDirectives } from '../kernel/core-directives.js';
import { helperFile } from '../kernel/helper-file.js';
import type { Installation } from '../kernel/installation.js';
import { readConfiguration } from '../kernel/read-configuration.js';

/** Files and folders that a configuration names, with those of its helpers. Absolute paths. */
export interface ConfiguredPaths {
  readonly logs: ReadonlySet<string>;
  /** Of the main level, where alerts go to; undefined: the standard error stream. */
  readonly errorLogs: readonly (string | undefined)[];
  /** Folders of temporary files and caches. */
  readonly folders: ReadonlySet<string>;
  readonly dataFolder: string;
  readonly pidFile: string;
  /** Unix sockets that it listens on. */
  readonly sockets: ReadonlySet<string>;
  /** Of the configuration itself, and files that it names to be read: certificates, keys, passwords. */
  readonly read: ReadonlySet<string>;
  /** Of `root` and `alias`, with the name of the directive. */
  readonly served: ReadonlyMap<string, string>;
}

/** Where relative paths are under. */
interface Folders {
  readonly prefix: string;
  readonly conf: string;
}

type Found = { -readonly [K in 'logs' | 'folders' | 'read' | 'sockets']: Set<string> } & { readonly served: Map<string, string> };

const SERVED = new Set(['root', 'alias']);

const LOGS = new Set(['error_log', 'access_log', 'api_audit_log', 'ssl_key_log', 'proxy_ssl_key_log']);
/** Directives whose first argument is a file that the server reads. Their relative paths are under the folder of the configuration file. */
export const READ_FILES =
  /^(?:(?:proxy_|grpc_)?ssl_(?:certificate|certificate_key|trusted_certificate|client_certificate|crl|dhparam|session_ticket_key|password_file|stapling_file)|auth_basic_user_file|cluster_key_file|password_file|tls_(?:ca|certificate|certificate_key)|captcha_(?:redirect_uri|text)_file|api_(?:tokens|client_certificate|user_file))$/;
/** Names a file that is read, in any directive: `captcha_secret file=…`. */
const PARAMETER = 'file=';
const DEFAULT_ACCESS_LOG = 'logs/access.log';
/** By directive, the folder without it. */
const TEMPORARY_FOLDERS: Readonly<Record<string, string>> = {
  client_body_temp_path: 'client_body_temp',
  proxy_temp_path: 'proxy_temp',
  fastcgi_temp_path: 'fastcgi_temp',
};

/** Their first argument is a folder that the server makes, and no folder is one without them. */
const CACHE_FOLDERS = new Set(['proxy_cache_path', 'fastcgi_cache_path']);

interface Around {
  /** Of lines that no `error_log` claims. */
  readonly errorLog: string;
  readonly installation: Installation;
}

/**
 * Finds them by the names of directives, before anything is checked and without loading modules: this runs as root.
 */
export function namedFiles({ directives, files }: ParsedText, folders: Folders, { errorLog, installation }: Around): ConfiguredPaths {
  const main = (name: 'pid' | 'data_folder'): string =>
    resolve(folders.prefix, directives.find((directive) => directive.name === name)?.args[0]?.text ?? mainDirectives[name].default);
  const logs = new Set(isFile(errorLog) ? [errorLog] : []);
  const found: Found = { logs, folders: new Set(), read: new Set(files), sockets: new Set(), served: new Map() };
  collect(directives, folders, found);
  for (const { name, args } of directives) {
    const conf = args[2]?.text;
    if (name !== 'helper' || conf === undefined) continue;
    const path = helperFile(resolve(folders.prefix, conf), { prefix: folders.prefix, installation });
    const helper = readConfiguration({ conf: path, globals: undefined }, new IdSource());
    for (const file of helper.files) found.read.add(file);
    collect(helper.directives, { prefix: folders.prefix, conf: dirname(path) }, found);
  }
  return { ...found, errorLogs: errorLogsOf(directives, folders, errorLog), dataFolder: main('data_folder'), pidFile: main('pid') };
}

function errorLogsOf(directives: readonly DirectiveData[], { prefix }: Folders, errorLog: string): (string | undefined)[] {
  const lines = directives.filter(({ name }) => name === 'error_log');
  const named = lines.filter(({ args }) => args[1]?.text !== 'emerg').map(({ args }) => args[0]?.text ?? '');
  const files = (lines.length > 0 ? named : [errorLog]).filter((path) => path === 'stderr' || isFile(path));
  return files.map((path) => (path === 'stderr' ? undefined : resolve(prefix, path)));
}

function collect(directives: readonly DirectiveData[], folders: Folders, found: Found): void {
  for (const { name, args, block } of directives) {
    const path = args[0]?.text;
    const log = LOGS.has(name) ? path : name === 'slow_log' ? args[1]?.text : undefined;
    if (log !== undefined && isFile(log)) found.logs.add(resolve(folders.prefix, log));
    if (path !== undefined && (Object.hasOwn(TEMPORARY_FOLDERS, name) || CACHE_FOLDERS.has(name)))
      found.folders.add(resolve(folders.prefix, path));
    if (path !== undefined && READ_FILES.test(name) && isNamed(path)) found.read.add(resolve(folders.conf, path));
    for (const { text } of args) if (text.startsWith(PARAMETER)) found.read.add(resolve(folders.conf, text.slice(PARAMETER.length)));
    if (name === 'listen' && path?.startsWith('unix:') === true) found.sockets.add(resolve(folders.prefix, path.slice(5)));
    if (path !== undefined && SERVED.has(name) && isNamed(path)) found.served.set(resolve(folders.prefix, path), name);
    if (block === undefined) continue;
    if (name === 'http') collectDefaults(block, folders, found);
    collect(block, folders, found);
  }
}

/** Defaults of the `http` block. */
function collectDefaults(http: readonly DirectiveData[], { prefix }: Folders, found: Found): void {
  const names = new Set(http.map(({ name }) => name));
  if (!names.has('access_log')) found.logs.add(resolve(prefix, DEFAULT_ACCESS_LOG));
  for (const [name, folder] of Object.entries(TEMPORARY_FOLDERS)) if (!names.has(name)) found.folders.add(resolve(prefix, folder));
}

/** False for what is not a path: text that the configuration itself has, and what a request decides. */
function isNamed(file: string): boolean {
  return !file.startsWith('data:') && !file.includes('$');
}

/** False for the process's own streams, for names that requests make, and for what is not written. */
function isFile(log: string): boolean {
  return log !== 'stderr' && log !== 'off' && !log.startsWith('/dev/') && !/^(?:syslog|memory):/.test(log) && !log.includes('$');
}
