/** The argument types a directive spec is made of. Units and forms are nginx's (configuration file measurement units). */
import { argType } from './arg-type.js';
import { ArgError, type ArgType, type JsonForm, type JsonSchema, type ZoneSync } from './spec.js';
import { durationMs, durationText, DURATION_SCHEMA, parseTime, timeText, type Duration } from './duration.js';
import type { HttpRequest } from './http.js';
import type { EngineTemplate } from './template.js';
import { isToken } from './message-text.js';

/** Characters that would end a line of the configuration, or a header, are rejected by the API. */
const NO_CONTROLS = String.raw`^[^\x00-\x1f\x7f]*$`;

const asIs = (value: string): string => value;

function textForm<T extends string>(schema: JsonSchema): JsonForm<T, string> {
  return { schema: { type: 'string', ...schema }, show: asIs, text: asIs };
}

/**
 * Any text.
 * @param options.max the most characters of a value that comes from the API
 * @param options.description completes "must be …", for the API
 */
export function text(form = 'text', { max = 1000, description = 'text without control characters' } = {}): ArgType<string, string> {
  const json = textForm({ maxLength: max, pattern: NO_CONTROLS, description });
  return { kind: 'text', form, parse: asIs, print: asIs, json };
}

/** Name of a header field (RFC 9110, 5.1). */
export function fieldName(): ArgType<string, string> {
  return {
    kind: 'text',
    form: 'field',
    parse(value) {
      if (isToken(value)) return value;
      throw new ArgError(`invalid header name "${value}"`, "allowed are letters, digits and !#$%&'*+-.^_`|~");
    },
    print: asIs,
    json: textForm({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", description: 'the name of a header field' }),
  };
}

/** The name of a variable to define, in lower case and without its dollar. */
export function variableName(): ArgType<string> {
  return argType({
    kind: 'text',
    form: '$variable',
    parse(value) {
      if (/^\$\w+$/.test(value)) return value.slice(1).toLowerCase();
      throw new ArgError(`invalid variable name "${value}"`, 'a variable is written $name');
    },
  });
}

const LARGEST = 2 ** 31 - 1;

/** A whole number from `min` to `max` (both included). */
export function number({ min = 0, max = LARGEST } = {}): ArgType<number, number> {
  const form = min < 0 ? /^-?\d{1,15}$/ : /^\d{1,15}$/;
  return {
    kind: 'number',
    form: 'number',
    parse(value) {
      if (!form.test(value)) throw new ArgError(`invalid number "${value}"`);
      const result = Number(value);
      if (result >= min && result <= max) return result;
      const range = max === LARGEST ? `equal to or greater than ${min}` : `between ${min} and ${max}`;
      throw new ArgError(`value "${value}" must be ${range}`);
    },
    print: String,
    json: { schema: { type: 'integer', minimum: min, maximum: max }, show: (value) => value, text: String },
  };
}

const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/**
 * Bytes: `512`, `8k`, `1m`, `2g`. In the API the same, or a number of bytes.
 * @param options.min the least size, in the same form
 */
export function size({ min = '0' } = {}): ArgType<number, string | number> {
  const least = bytesOf(min);
  return {
    kind: 'size',
    form: 'size',
    parse(value) {
      const result = bytesOf(value);
      if (result < least) throw new ArgError(`value "${value}" must be equal to or greater than ${min}`);
      return result;
    },
    print: sizeText,
    json: {
      shown: { type: 'string' },
      schema: { type: ['string', 'integer'], pattern: SIZE.source, minimum: least, description: 'a size: 512, 8k, 1m' },
      show: sizeText,
      text: String,
    },
  };
}

const SIZE = /^(\d{1,16})([kKmMgG]?)$/;

function bytesOf(value: string): number {
  const bytes = parseSize(value);
  if (bytes === undefined)
    throw new ArgError(`invalid value "${value}"`, 'a size is a number of bytes, or has one of the suffixes k, m, g: 512, 8k, 1m');
  if (bytes === Infinity) throw new ArgError(`invalid value "${value}"`, 'value is too large');
  return bytes;
}

/** Bytes of a text such as `512`, `8k`, `1m`; undefined: it is not a size. */
export function sizeOf(text: string): number | undefined {
  const bytes = parseSize(text);
  return bytes === Infinity ? undefined : bytes;
}

/** A size, or a text with variables that is one for each request: {@link sizeOf}. */
export function sizeTemplate<R = HttpRequest>(form = 'size'): ArgType<EngineTemplate<R>, string> {
  const text = template<R>(form);
  return {
    ...text,
    kind: 'size',
    parse(value, context) {
      const parsed = text.parse(value, context);
      if (parsed.constant !== undefined) bytesOf(parsed.constant);
      return parsed;
    },
  };
}

/** Bytes. Undefined: malformed; infinite: too large to be exact. */
function parseSize(value: string): number | undefined {
  const [, digits, unit = ''] = SIZE.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * (SIZE_UNITS[unit.toLowerCase()] ?? 1);
  return Number.isSafeInteger(bytes) ? bytes : Infinity;
}

/** Bytes in the largest unit that gives a whole number: `8k`, `1025`. */
function sizeText(bytes: number): string {
  const unit = ['g', 'm', 'k'].find((name) => bytes > 0 && bytes % (SIZE_UNITS[name] ?? 1) === 0) ?? '';
  return `${bytes / (SIZE_UNITS[unit] ?? 1)}${unit}`;
}

/**
 * Milliseconds. A bare number is seconds, as in nginx.
 * @param options.calendar months and years are units too: where nginx counts in seconds, and not in milliseconds
 */
export function time({ calendar = false } = {}): ArgType<number, Duration> {
  return {
    kind: 'time',
    form: 'time',
    parse(value) {
      const result = !calendar && /[yM]/.test(value) ? undefined : parseTime(value);
      if (result === undefined) throw new ArgError(`invalid value "${value}"`, 'a time is written like 500ms, 10s, 1m, 1h 30m, 1d');
      return result;
    },
    print: timeText,
    json: { schema: DURATION_SCHEMA, shown: { type: 'string' }, show: durationText, text: (value) => timeText(durationMs(value)) },
  };
}

const SWITCH: JsonForm<boolean, boolean> = {
  schema: { type: 'boolean' },
  show: (value) => value,
  text: (value) => (value ? 'on' : 'off'),
};

/** `on` or `off`. */
export function flag(): ArgType<boolean, boolean> {
  return {
    kind: 'flag',
    form: 'on | off',
    parse(value) {
      const lower = value.toLowerCase();
      if (lower === 'on') return true;
      if (lower === 'off') return false;
      throw new ArgError(`invalid value "${value}"`, 'it must be "on" or "off"');
    },
    print: (value) => (value ? 'on' : 'off'),
    json: SWITCH,
  };
}

/** One of the given words. */
export function choice<const T extends string>(...words: readonly T[]): ArgType<T, string> {
  return {
    kind: 'choice',
    form: words.join(' | '),
    parse(value) {
      const found = words.find((word) => word === value);
      if (found === undefined) throw new ArgError(`invalid value "${value}"`, `one of: ${words.join(', ')}`);
      return found;
    },
    print: asIs,
    json: textForm({ enum: words }),
  };
}

/** A zone of shared memory, `name:size`. */
export interface ZoneSize {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

interface ZoneOptions {
  /** The smallest size. */
  readonly min?: string;
  /** How nodes share it: the directive has an argument {@link zoneSync} as well. */
  readonly sync?: ZoneSync;
}

/**
 * A zone of shared memory as `limit_req_zone`, `limit_conn_zone` and `proxy_cache_path` write it: `zone=name:size`, as
 * `requiredParam('zone', zone())`.
 */
export function zone({ min = '32k', sync }: ZoneOptions = {}): ArgType<ZoneSize, string> {
  const least = bytesOf(min);
  const print = ({ name, size }: ZoneSize): string => `${name}:${sizeText(size)}`;
  return {
    kind: 'zone',
    ...(sync && { sync }),
    form: 'name:size',
    parse(value, _context, written = value) {
      const [, name, text = ''] = /^([^:]+):(.*)$/s.exec(value) ?? [];
      const bytes = parseSize(text) ?? Infinity;
      if (name === undefined || bytes === Infinity)
        throw new ArgError(`invalid zone size "${written}"`, 'a zone is a name and a size: one:10m');
      if (bytes < least) throw new ArgError(`zone "${written}" is too small`, `at least ${min}`);
      return { name, size: bytes };
    },
    print,
    json: {
      schema: { type: 'string', pattern: String.raw`^[^\x00-\x1f\x7f:]+:\d{1,16}[kKmMgG]?$`, description: 'a name and a size: one:10m' },
      show: print,
      text: asIs,
    },
  };
}

/** The name of a zone of shared memory whose size is the argument `size` after it, as in `captcha_session_zone name size`: the arguments are a {@link ZoneSize}. */
export function zoneName({ sync }: Pick<ZoneOptions, 'sync'> = {}): ArgType<string, string> {
  return {
    kind: 'zone',
    ...(sync && { sync }),
    form: 'name',
    parse(value) {
      if (value !== '' && !value.includes(':')) return value;
      throw new ArgError(`invalid zone name "${value}"`, 'a name without ":"');
    },
    print: asIs,
    json: textForm({ pattern: String.raw`^[^\x00-\x1f\x7f:]+$`, description: 'the name of a zone' }),
  };
}

/** The largest memory of a zone. */
const MOST_COPIES = 1024 ** 3;

/** Bytes of memory for copies, beside the zone that the same directive declares with {@link zone}: `param('memory', copies())`. */
export function copies({ min = '1m' } = {}): ArgType<number, string | number> {
  const bytes = size({ min });
  return {
    ...bytes,
    kind: 'copies',
    parse(value, context, written) {
      const result = bytes.parse(value, context, written);
      if (result > MOST_COPIES) throw new ArgError(`value "${value}" must be equal to or less than ${sizeText(MOST_COPIES)}`);
      return result;
    },
  };
}

/**
 * `sync` or `sync=NAME`: nodes share the zone of the directive over the only `redis` block, or over the one of that name. The value is the name, empty
 * for the only one. The argument is called `sync`.
 */
export function zoneSync(): ArgType<string | undefined, string> {
  return {
    kind: 'param',
    form: '[sync[=redis]]',
    key: 'sync',
    mayBeBare: true,
    parse(value) {
      if (/^[^\s{}=]*$/.test(value)) return value;
      throw new ArgError(`invalid name "${value}"`, 'the name of a "redis" block');
    },
    print: (value = '') => value,
    absent: undefined,
    json: {
      schema: { type: 'string', maxLength: 100, pattern: NO_CONTROLS, description: 'the name of a "redis" block' },
      show: (value = '') => value,
      text: asIs,
    },
  };
}

const RATE_SECONDS: Readonly<Record<string, number>> = { 'r/s': 1, 'r/m': 60, '': 1 };

/** Requests per second or minute, `10r/s`, `30r/m`, in thousandths of a request per second, rounded down as nginx does (`limit_req_zone`). */
export function requestRate(): ArgType<number, string> {
  return {
    kind: 'text',
    form: 'rate',
    parse(value, _context, written = value) {
      const [, count = '', unit = ''] = /^(\d{1,9})(r\/[sm])?$/.exec(value) ?? [];
      if (Number(count) < 1) throw new ArgError(`invalid rate "${written}"`, 'requests per second or minute: 10r/s, 30r/m');
      return Math.floor((Number(count) * 1000) / (RATE_SECONDS[unit] ?? 1));
    },
    print: rateText,
    json: {
      schema: { type: 'string', pattern: String.raw`^0*[1-9]\d{0,8}(r/[sm])?$`, description: 'a rate: 10r/s, 30r/m' },
      show: rateText,
      text: asIs,
    },
  };
}

function rateText(thousandths: number): string {
  return thousandths % 1000 === 0 ? `${thousandths / 1000}r/s` : `${Math.ceil((thousandths * 60) / 1000)}r/m`;
}

/** Templates hold bytes, as requests do. */
function sourceOf<R>({ source = '' }: EngineTemplate<R>): string {
  return Buffer.from(source, 'latin1').toString();
}

/** Text with variables, compiled once. `R` is the kind of request that the traffic engine of the directive serves. */
export function template<R = HttpRequest>(form = 'string'): ArgType<EngineTemplate<R>, string> {
  const schema = { type: 'string', pattern: NO_CONTROLS, description: 'text without control characters' };
  return {
    kind: 'template',
    form,
    parse: (value, context) => context.template(value) as EngineTemplate<R>,
    print: sourceOf,
    json: { schema, show: sourceOf, text: asIs },
  };
}

const PATH_JSON = textForm({ maxLength: 4096, pattern: NO_CONTROLS, description: 'a path' });

/** A path of the file system; relative ones are under the prefix. */
export function path(): ArgType<string, string> {
  return { kind: 'path', form: 'path', parse: (value, context) => context.path(value), print: asIs, json: PATH_JSON };
}

/** A path of a file that belongs to the configuration, as certificates do; relative ones are under the folder of the configuration file. */
export function confPath(): ArgType<string, string> {
  return { kind: 'path', form: 'path', parse: (value, context) => context.path(value, 'conf'), print: asIs, json: PATH_JSON };
}

/** Text and JSON of an argument that may be missing: those of its value. */
function ofValue<T, A, J>(type: ArgType<T, J>): Pick<ArgType<T | A, J>, 'print' | 'json'> {
  const present = type as ArgType<T | A, J>;
  return { print: (value) => present.print(value), json: present.json };
}

/** A positional argument that may be missing. */
export function optional<T, J>(type: ArgType<T, J>): ArgType<T | undefined, J>;
export function optional<T, J, const A>(type: ArgType<T, J>, absent: A): ArgType<T | A, J>;
export function optional<T, J, A>(type: ArgType<T, J>, absent?: A): ArgType<T | A | undefined, J> {
  return { kind: 'optional', form: `[${type.form}]`, parse: type.parse, absent, of: type, ...ofValue<T, A | undefined, J>(type) };
}

/** All arguments that follow, at least `least` of them. Comes last among the positional ones. */
export function rest<T, J>(type: ArgType<T, J>, least = 1): ArgType<readonly T[], readonly J[]> {
  const { json } = type;
  return {
    kind: 'rest',
    form: `${type.form} ...`,
    parse: (value, context) => [type.parse(value, context)],
    print: (values) => values.map((value) => type.print(value)).join(' '),
    json: {
      schema: { type: 'array', items: json.schema, minItems: least },
      show: (values) => values.map((value) => json.show(value)),
      text: (values) => values.map((value) => json.text(value)).join(' '),
    },
    least,
    absent: [],
    of: type,
  };
}

/** The bare word `key`, anywhere after the positional arguments: present or not. */
export function word(key: string): ArgType<boolean, boolean> {
  return { kind: 'word', form: `[${key}]`, key, parse: () => true, print: (isThere) => (isThere ? key : ''), absent: false, json: SWITCH };
}

/** `key=value`, anywhere after the positional arguments. */
export function param<T, J>(key: string, type: ArgType<T, J>): ArgType<T | undefined, J>;
export function param<T, J, const A>(key: string, type: ArgType<T, J>, absent: A): ArgType<T | A, J>;
export function param<T, J, A>(key: string, type: ArgType<T, J>, absent?: A): ArgType<T | A | undefined, J> {
  return { kind: 'param', form: `[${key}=${type.form}]`, key, parse: type.parse, absent, of: type, ...ofValue<T, A | undefined, J>(type) };
}

/** `key=value` that has to be there: `limit_req_zone $key zone=one:10m rate=1r/s`. */
export function requiredParam<T, J>(key: string, type: ArgType<T, J>): ArgType<T, J> {
  const { parse, json } = type;
  return { kind: 'param', form: `${key}=${type.form}`, key, parse, print: (value) => type.print(value), json, required: true, of: type };
}
