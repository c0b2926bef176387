/** Access logs of a traffic engine: `R` is what it serves. Its module declares the directives, what they do is here. */
import { argType } from '../contract/arg-type.js';
import { leavesFolder, pathTemplate } from '../contract/path-template.js';
import { choice, number, optional, param, rest, size, template, text, time, word } from '../contract/args.js';
import type { BlockScope } from '../contract/scope.js';
import type { LogCompression } from '../contract/log-file-options.js';
import { objectParts, shippedObject } from './log-json.js';
import { namesSyslog, openLog } from './open-log.js';
import { Log } from '../contract/log.js';
import { LogFiles, type NamedLogFiles } from '../contract/log-files.js';
import { ServerInfo } from '../contract/server-info.js';
import { ArgError, type ArgContext, type ArgType, type Directives } from '../contract/spec.js';
import type { Getter, EngineTemplate } from '../contract/template.js';
import type { Directive } from '../contract/tree.js';

export type LogParts<R> = readonly (string | Getter<R>)[];

/** A piece of a format: variables are escaped one by one, and one without a value is a hyphen. */
function logText<R>(): ArgType<LogParts<R>> {
  return argType({ kind: 'template', form: 'string', parse: (value, context) => (context as unknown as ArgContext<R>).parts(value) });
}

/** Size of the buffer for lines: more than zero. */
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

/** `gzip` or `gzip=level`. */
function gzipLevel(): ArgType<number | undefined> {
  const level = number({ min: 1, max: 9 });
  return param(
    'gzip',
    argType<number>({
      kind: 'number',
      form: 'level',
      parse(value, context) {
        try {
          return level.parse(value, context);
        } catch (error) {
          if (!(error instanceof ArgError)) throw error;
          throw new ArgError(`invalid compression level "${value}"`, 'from 1 (fastest) to 9');
        }
      },
    }),
  );
}

/** The arguments of `log_format`. */
export function logFormatArgs<R>() {
  return {
    name: text('name'),
    escape: param('escape', choice('default', 'json', 'none'), 'default'),
    strings: rest(logText<R>()),
  } as const;
}

/** A path, or a syslog server. */
function logName<R>(): ArgType<EngineTemplate<R>, string> {
  const [file, text] = [pathTemplate<R>('path | off'), template<R>()];
  return { ...file, parse: (value, context) => (namesSyslog(value, context) ? text : file).parse(value, context) };
}

/** The arguments of `access_log`. */
export function accessLogArgs<R>() {
  return {
    path: logName<R>(),
    format: optional(text('format')),
    buffer: param('buffer', collected('buffer size', size())),
    flush: param('flush', collected('flush time', time())),
    gzip: word('gzip'),
    gzipLevel: gzipLevel(),
    condition: param('if', template<R>('condition')),
    sample: param('sample', number({ min: 1 }), 1),
  } as const;
}

/** The arguments of `log_json`. */
export const logJsonArgs = { name: text('name') } as const;

/** The arguments of `open_log_file_cache`. */
export const logFileCacheArgs = {
  off: word('off'),
  max: param('max', number({ min: 1 })),
  inactive: param('inactive', time(), 10_000),
  minUses: param('min_uses', number(), 1),
  valid: param('valid', time(), 60_000),
} as const;

/** Values of the directives of an engine's module in one scope. */
interface LogConf<R> {
  readonly log_format: readonly {
    readonly name: string;
    readonly escape: 'default' | 'json' | 'none';
    readonly strings: readonly LogParts<R>[];
  }[];
  readonly access_log: readonly AccessLogLine<R>[];
  readonly open_log_file_cache:
    | {
        readonly off: unknown;
        readonly max: number | undefined;
        readonly inactive: number;
        readonly minUses: number;
        readonly valid: number;
      }
    | undefined;
}

interface AccessLogLine<R> {
  readonly path: EngineTemplate<R>;
  readonly format: string | undefined;
  readonly buffer: number | undefined;
  readonly flush: number | undefined;
  readonly gzip: boolean;
  readonly gzipLevel: number | undefined;
  readonly condition: EngineTemplate<R> | undefined;
  /** One request of so many is logged. */
  readonly sample: number;
}

/** The scope of a server or location. */
export type LogScope<R> = Pick<BlockScope<Directives, string, R>, 'args' | 'lines' | 'each' | 'fail' | 'register'> & {
  readonly conf: LogConf<R>;
};

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

/** Of a line whose values are JSON already. */
const asIs: Escape = (value) => value;

/** Content of a JSON string between its quotes, with hexadecimal digits in upper case as nginx writes them. */
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

/** Defaults of nginx for `gzip` without a level, and without `buffer`. */
const GZIP_LEVEL = 1;
const GZIP_BUFFER = 65_536;

interface Line<R> {
  readonly append: (subject: R, text: string) => void;
  readonly parts: LogParts<R>;
  readonly escape: Escape;
  /** Text of a variable without a value. */
  readonly missing: string;
  readonly condition: EngineTemplate<R> | undefined;
  readonly sample: number;
  /** Requests since the last one that was logged. */
  skipped: number;
}

/** The files that one open_log_file_cache keeps open. */
interface SharedFiles {
  readonly files: NamedLogFiles;
  /** Scopes that write to them. */
  users: number;
}

/** Parts that differ between engines. */
export interface LogEngine<R> {
  /** Formats that need not be defined, by name; the first one is that of a line without a format. */
  readonly formats: ReadonlyMap<string, LogParts<R>>;
  /** Keys of the format `json`, which a `log_format` or `log_json` of this name replaces. Absent: there is no such format. */
  readonly json?: Readonly<Record<string, Getter<R>>>;
  /** For the log: `while logging request`. */
  readonly during: string;
  /** Reports a line that could not be written in the error log. */
  report(log: Log, text: string, subject: R): void;
}

/** The access logs of one thread. */
export class AccessLogs<R> {
  /** Without open_log_file_cache; made when the first scope is compiled. */
  #uncached: NamedLogFiles | undefined;
  /** All scopes that one line holds for share what is open. */
  readonly #caches = new WeakMap<Directive, SharedFiles>();

  constructor(
    private readonly files: LogFiles,
    private readonly info: ServerInfo,
    private readonly log: Log,
    private readonly engine: LogEngine<R>,
  ) {}

  /** Looks for what is wrong with the settings of a server, whether it logs or not. */
  check(scope: LogScope<R>): void {
    this.#assertFormats(scope);
    this.#namedFiles(scope);
  }

  /** Writer of the lines of a scope; undefined: it has none. */
  compile(scope: LogScope<R>): ((subject: R) => void) | undefined {
    const written = scope.lines('access_log');
    const lines = scope.each(scope.conf.access_log.entries(), ([at, line]) => this.#line(scope, line, written[at]));
    // `off` is for all of them.
    if (lines.length === 0 || !lines.every((line) => line !== undefined)) return undefined;
    return (subject) => {
      for (const line of lines) writeLine(line, subject);
    };
  }

  /** @param written undefined: nothing is, the default holds. @returns undefined for `off` */
  #line(scope: LogScope<R>, line: AccessLogLine<R>, written: Directive | undefined): Line<R> | undefined {
    const { path, format, condition, sample } = line;
    if (written !== undefined) assertWords(scope, written);
    if (path.constant === 'off') return undefined;
    const [usual] = this.engine.formats.keys();
    const name = format ?? usual;
    if (name === undefined)
      return scope.fail(
        'log format is not specified',
        written,
        `define one with log_format, and name it: access_log ${path.source ?? 'path'} name`,
      );
    const style = this.#styleOf(scope, name);
    if (style === undefined)
      return scope.fail(`unknown log format "${name}"`, written, 'define it with log_format or log_json in the block of the engine');
    // The first request is logged, whatever `sample` is.
    return { append: this.#appender(scope, line, written), ...style, condition, sample, skipped: sample - 1 };
  }

  /** Undefined: there is no format of this name. */
  #styleOf(scope: LogScope<R>, name: string): Pick<Line<R>, 'parts' | 'escape' | 'missing'> | undefined {
    const found = scope.conf.log_format.find((candidate) => candidate.name === name);
    if (found !== undefined)
      return { parts: found.strings.flat(), escape: ESCAPES[found.escape], missing: found.escape === 'default' ? '-' : '' };
    const object = scope.lines('log_json').find(({ args: [word] }) => word?.text === name);
    if (object !== undefined) return { parts: objectParts<R>(scope, object, ESCAPES.json), escape: asIs, missing: 'null' };
    const parts = this.engine.formats.get(name);
    if (parts !== undefined) return { parts, escape: ESCAPES.default, missing: '-' };
    const { json } = this.engine;
    return name === 'json' && json !== undefined ? { parts: shippedObject(json, ESCAPES.json), escape: asIs, missing: 'null' } : undefined;
  }

  #appender(scope: LogScope<R>, line: AccessLogLine<R>, written: Directive | undefined): Line<R>['append'] {
    const { path } = line;
    const name = isSyslog(path) ? path.source : path.constant;
    if (name !== undefined) {
      const log = openLog(scope, this.files, { name, place: written, gzip: compressionOf(line) });
      return (_, line) => log.write(line);
    }
    const files = this.#namedFiles(scope);
    return (subject, line) => {
      try {
        const file = this.info.path(path.of(subject));
        if (leavesFolder(path, file, (text) => this.info.path(text))) throw new Error(`the log "${file}" is outside of its folder`);
        files.write(file, line);
      } catch (error) {
        this.engine.report(this.log, `${(error as Error).message} ${this.engine.during}`, subject);
      }
    };
  }

  #namedFiles(scope: LogScope<R>): NamedLogFiles {
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

  /** Each name of a format stands for one. The formats are those of the engine's block, which the scope of every server is in. */
  #assertFormats(scope: LogScope<R>): void {
    const names = new Set(this.engine.formats.keys());
    scope.each([...scope.lines('log_format'), ...scope.lines('log_json')], (line) => {
      const name = line.args[0]?.text ?? '';
      if (names.has(name)) scope.fail(`duplicate "${line.name}" name "${name}"`, line);
      names.add(name);
      if (line.name === 'log_json') objectParts<R>(scope, line, ESCAPES.json);
    });
  }
}

/** Errors that only show when the words of a line are seen together. */
function assertWords(scope: Pick<LogScope<never>, 'fail'>, line: Directive): void {
  const [path = '', ...others] = line.args.map((word) => word.text);
  if (path === 'off' && others[0] !== undefined) scope.fail(`invalid parameter "${others[0]}"`, line, '"off" has no other parameters');
  if (/^(?:(?:buffer|flush|if|gzip|sample)=|gzip$)/.test(others[0] ?? ''))
    scope.fail(`unknown log format "${others[0]}"`, line, `the format comes first: access_log ${path} format ${others[0]}`);
  const isBuffered = others.some((option) => /^(?:buffer=|gzip(?:=|$))/.test(option));
  if (isBuffered && path.startsWith('syslog:')) scope.fail('logs to syslog cannot be buffered', line);
  if (isBuffered && path.includes('$')) scope.fail('buffered logs cannot have variables in name', line);
  const isFlushed = others.some((word) => word.startsWith('flush='));
  if (isFlushed && !isBuffered) scope.fail(`no buffer is defined for access_log "${path}"`, line);
}

/** Variables have no place in what names a server. */
const isSyslog = ({ source }: EngineTemplate<never>): boolean => source?.startsWith('syslog:') === true;

/** Undefined: lines are written as they are, at the latest when the turn of the event loop ends, whatever `buffer` says. */
function compressionOf({ gzip, gzipLevel, buffer, flush }: AccessLogLine<never>): LogCompression | undefined {
  if (!gzip && gzipLevel === undefined) return undefined;
  return { level: gzipLevel ?? GZIP_LEVEL, buffer: buffer ?? GZIP_BUFFER, flushMs: flush };
}

function writeLine<R>(line: Line<R>, subject: R): void {
  const condition = line.condition?.of(subject);
  if (condition === '' || condition === '0') return;
  if (++line.skipped < line.sample) return;
  line.skipped = 0;
  let text = '';
  for (const part of line.parts) {
    if (typeof part === 'string') text += part;
    else {
      const value = part(subject);
      text += value === undefined ? line.missing : line.escape(value);
    }
  }
  line.append(subject, text);
}
