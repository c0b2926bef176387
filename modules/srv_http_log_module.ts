import { argType } from '../core/module/arg-type.js';
import { choice, flag, number, optional, param, rest, size, template, text, time, word } from '../core/module/args.js';
import type { HttpHandlers, HttpRequest, LocationScope, Template, VariableGetter } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { Log, LogFiles, ServerInfo, type NamedLogFiles } from '../core/module/services.js';
import { ArgError, directive, type ArgType, type ConfValue } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';

type Parts = readonly (string | VariableGetter)[];

/** A piece of a format: variables are escaped one by one, and one without a value is a hyphen. */
function logText(): ArgType<Parts> {
  return argType({ kind: 'template', form: 'string', parse: (value, context) => context.parts(value) });
}

/** What lines are collected by: more than zero. */
function collected(what: string, type: ArgType<number>): ArgType<number> {
  return {
    ...type,
    parse(value, context) {
      try {
        const result = type.parse(value, context);
        if (result > 0) return result;
      } catch (error) {
        if (!(error instanceof ArgError)) throw error;
      }
      throw new ArgError(`invalid ${what} "${value}"`);
    },
  };
}

const directives = {
  log_format: directive({
    in: ['http'],
    args: { name: text('name'), escape: param('escape', choice('default', 'json', 'none'), 'default'), strings: rest(logText()) },
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
    dynamic: true,
    doc: 'Defines a format of access logs.',
  }),
  access_log: directive({
    in: ['http', 'server', 'location', 'if in location', 'limit_except'],
    args: {
      path: template('path | off'),
      format: optional(text('format')),
      buffer: param('buffer', collected('buffer size', size())),
      flush: param('flush', collected('flush time', time())),
      condition: param('if', template('condition')),
    },
    many: true,
    default: 'logs/access.log combined',
    dynamic: true,
    doc: 'Writes a line for every request.',
  }),
  log_subrequest: directive({ in: ['http', 'server', 'location'], args: flag(), default: 'off', doc: 'Logs subrequests as well.' }),
  open_log_file_cache: directive({
    in: ['http', 'server', 'location'],
    args: {
      off: word('off'),
      max: param('max', number({ min: 1 })),
      inactive: param('inactive', time(), 10_000),
      minUses: param('min_uses', number(), 1),
      valid: param('valid', time(), 60_000),
    },
    default: 'off',
    doc: 'Keeps log files open whose names contain variables: at most `max`, as long as each gets `min_uses` lines in the time of `inactive`. After `valid` it is checked that the file still has its name.',
  }),
};

type LogScope = LocationScope<typeof directives>;
type AccessLogLine = ConfValue<typeof directives.access_log>[number];

const COMBINED = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';
/** What `context.parts` gives for the predefined format; spelled out because no directive carries it. */
const COMBINED_NAMES = COMBINED.split(/(\$\w+)/);

type Escape = (value: string) => string;

const ESCAPES: Readonly<Record<'default' | 'json' | 'none', Escape>> = {
  default: (value) => (/["\\\x00-\x1f\x7f-\uffff]/.test(value) ? value.replace(/["\\\x00-\x1f\x7f-\uffff]/g, hex) : value),
  json: (value) => (/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(value) ? value : jsonText(characters(value))),
  none: (value) => (/^[\x00-\x7f]*$/.test(value) ? value : characters(value)),
};

/** Values of requests are strings of bytes; files are written in UTF-8. */
function characters(value: string): string {
  return Buffer.from(value, 'latin1').toString();
}

/** What stands between the quotes of a JSON string, with hexadecimal digits in upper case as nginx writes them. */
function jsonText(value: string): string {
  return JSON.stringify(value)
    .slice(1, -1)
    .replaceAll(/\\(?:u([0-9a-f]{4})|.)/g, (escape, digits: string | undefined) =>
      digits === undefined ? escape : `\\u${digits.toUpperCase()}`,
    );
}

function hex(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

interface Line {
  readonly append: (request: HttpRequest, text: string) => void;
  readonly parts: Parts;
  readonly escape: Escape;
  /** What a variable without a value shows. */
  readonly missing: string;
  readonly condition: Template | undefined;
}

/** The files that one open_log_file_cache keeps open. */
interface SharedFiles {
  readonly files: NamedLogFiles;
  /** Scopes that write to them. */
  users: number;
}

/** Access logs (ngx_http_log_module). */
@httpModule({ name: 'srv_http_log_module', api: 1, directives })
export class AccessLog {
  /** Without open_log_file_cache; made when the first scope is compiled. */
  #uncached: NamedLogFiles | undefined;
  /** All scopes that one line holds for share what is open. */
  readonly #caches = new WeakMap<Directive, SharedFiles>();

  constructor(
    private readonly files: LogFiles,
    private readonly info: ServerInfo,
    private readonly log: Log,
  ) {}

  compileServer(scope: LogScope): undefined {
    assertFormats(scope);
    this.#namedFiles(scope);
  }

  compile(scope: LogScope): HttpHandlers | undefined {
    const written = scope.lines('access_log');
    const lines = scope.each(scope.conf.access_log.entries(), ([at, line]) => this.#line(scope, line, written[at]));
    // `off` is for all of them.
    if (lines.length === 0 || !lines.every((line) => line !== undefined)) return undefined;
    const { log_subrequest: logsSubrequests } = scope.conf;
    return {
      log(request) {
        if (request.parent !== undefined && !logsSubrequests) return;
        for (const line of lines) writeLine(line, request);
      },
    };
  }

  /** @param written undefined: nothing is, the default holds. @returns undefined for `off` */
  #line(scope: LogScope, { path, format = 'combined', condition }: AccessLogLine, written: Directive | undefined): Line | undefined {
    if (written !== undefined) assertWords(scope, written);
    if (path.constant === 'off') return undefined;
    const found = scope.conf.log_format.find((candidate) => candidate.name === format);
    if (found === undefined && format !== 'combined')
      scope.fail(`unknown log format "${format}"`, written, 'define it with log_format in http');
    const escape = found?.escape ?? 'default';
    return {
      append: this.#appender(scope, path, written),
      parts: found === undefined ? COMBINED_NAMES.map(combinedPart) : found.strings.flat(),
      escape: ESCAPES[escape],
      missing: escape === 'default' ? '-' : '',
      condition,
    };
  }

  #appender(scope: LogScope, path: Template, written: Directive | undefined): Line['append'] {
    if (path.constant !== undefined) {
      try {
        const file = this.files.open(this.info.path(path.constant));
        scope.register({ abort: () => file.close(true), release: () => file.close() });
        return (_, line) => file.write(line);
      } catch (error) {
        return scope.fail((error as Error).message, written);
      }
    }
    const files = this.#namedFiles(scope);
    return (request, line) => {
      try {
        files.write(this.info.path(path.of(request)), line);
      } catch (error) {
        this.log.write('crit', `${(error as Error).message} while logging request`, request);
      }
    };
  }

  #namedFiles(scope: LogScope): NamedLogFiles {
    const [line] = scope.lines('open_log_file_cache');
    const cache = scope.conf.open_log_file_cache;
    if (line === undefined || cache === undefined || cache.off) return (this.#uncached ??= this.files.named());
    const { max, inactive, minUses, valid } = cache;
    if (max === undefined) return scope.fail('"open_log_file_cache" must have "max" parameter', line);
    const shared = this.#caches.get(line) ?? { files: this.files.named({ max, inactiveMs: inactive, minUses, validMs: valid }), users: 0 };
    this.#caches.set(line, shared);
    shared.users++;
    const leave = (): void => {
      if (--shared.users > 0) return;
      this.#caches.delete(line);
      shared.files.close();
    };
    scope.register({ abort: leave, release: leave });
    return shared.files;
  }
}

/** Each name of a format stands for one. The formats are those of `http`, which the scope of every server is in. */
function assertFormats(scope: LogScope): void {
  const names = new Set(['combined']);
  scope.each(scope.lines('log_format'), (line) => {
    const name = line.args[0]?.text ?? '';
    if (names.has(name)) scope.fail(`duplicate "log_format" name "${name}"`, line);
    names.add(name);
  });
}

/** What only shows when the words of a line are seen together. */
function assertWords(scope: LogScope, line: Directive): void {
  const [path = '', ...others] = line.args.map((word) => word.text);
  if (path.startsWith('syslog:')) scope.fail(`unsupported log "${path}"`, line, 'write to a file');
  if (path === 'off' && others[0] !== undefined) scope.fail(`invalid parameter "${others[0]}"`, line, '"off" has no other parameters');
  if (/^(?:buffer|flush|if)=/.test(others[0] ?? ''))
    scope.fail(`unknown log format "${others[0]}"`, line, `the format comes first: access_log ${path} combined ${others[0]}`);
  if (path.includes('$') && others.some((option) => option.startsWith('buffer=')))
    scope.fail('buffered logs cannot have variables in name', line);
  const isFlushed = others.some((word) => word.startsWith('flush='));
  if (isFlushed && !others.some((word) => word.startsWith('buffer='))) scope.fail(`no buffer is defined for access_log "${path}"`, line);
}

function combinedPart(piece: string): string | VariableGetter {
  return piece.startsWith('$') ? (request) => request.variable(piece.slice(1)) : piece;
}

function writeLine(line: Line, request: HttpRequest): void {
  const condition = line.condition?.of(request);
  if (condition === '' || condition === '0') return;
  let text = '';
  for (const part of line.parts) {
    if (typeof part === 'string') text += part;
    else {
      const value = part(request);
      text += value === undefined ? line.missing : line.escape(value);
    }
  }
  line.append(request, text);
}
