/** The argument types a directive spec is made of. Units and forms are nginx's (configuration file measurement units). */
import { ArgError, type ArgType } from './spec.js';
import type { Template } from './http.js';
import { isToken } from './message-text.js';

/** Any text. */
export function text(form = 'text'): ArgType<string> {
  return { kind: 'text', form, parse: (value) => value };
}

/** Name of a header field (RFC 9110, 5.1). */
export function fieldName(): ArgType<string> {
  return {
    kind: 'text',
    form: 'field',
    parse(value) {
      if (isToken(value)) return value;
      throw new ArgError(`invalid header name "${value}"`, "letters, digits and !#$%&'*+-.^_`|~ may stand in it");
    },
  };
}

const LARGEST = 2 ** 31 - 1;

/** A whole number from `min` to `max` (both included). */
export function number({ min = 0, max = LARGEST } = {}): ArgType<number> {
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
  };
}

const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/**
 * Bytes: `512`, `8k`, `1m`, `2g`.
 * @param options.min the least size, in the same form
 */
export function size({ min = '0' } = {}): ArgType<number> {
  const least = bytesOf(min);
  return {
    kind: 'size',
    form: 'size',
    parse(value) {
      const result = bytesOf(value);
      if (result < least) throw new ArgError(`value "${value}" must be equal to or greater than ${min}`);
      return result;
    },
  };
}

const SIZE = /^(\d{1,12})([kKmMgG]?)$/;

function bytesOf(value: string): number {
  const match = SIZE.exec(value);
  if (!match)
    throw new ArgError(`invalid value "${value}"`, 'a size is a number of bytes, or has one of the suffixes k, m, g: 512, 8k, 1m');
  const result = Number(match[1]) * (SIZE_UNITS[(match[2] ?? '').toLowerCase()] ?? 1);
  if (!Number.isSafeInteger(result)) throw new ArgError(`invalid value "${value}"`, 'value is too large');
  return result;
}

const TIME_UNITS: Readonly<Record<string, number>> = {
  y: 31536e6,
  M: 2592e6,
  w: 6048e5,
  d: 864e5,
  h: 36e5,
  m: 6e4,
  s: 1e3,
  ms: 1,
  '': 1e3,
};
const TIME_ORDER = ['y', 'M', 'w', 'd', 'h', 'm', 's', 'ms'];

/** Milliseconds of a time such as `500ms`, `10s`, `1h 30m`, `1d12h`; a bare number is seconds. Undefined if malformed. */
export function parseTime(value: string): number | undefined {
  if (!/^\s*\d/.test(value)) return undefined;
  let total = 0;
  let last = -1;
  const part = /\s*(\d{1,12})(ms|[yMwdhms]?)/y;
  while (part.lastIndex < value.length) {
    const match = part.exec(value);
    if (!match) return undefined;
    const unit = match[2] ?? '';
    const order = TIME_ORDER.indexOf(unit === '' ? 's' : unit);
    if (order <= last) return undefined;
    last = order;
    total += Number(match[1]) * (TIME_UNITS[unit] ?? 0);
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/**
 * Milliseconds. A bare number is seconds, as in nginx.
 * @param options.calendar months and years are units too: where nginx counts in seconds, and not in milliseconds
 */
export function time({ calendar = false } = {}): ArgType<number> {
  return {
    kind: 'time',
    form: 'time',
    parse(value) {
      const result = !calendar && /[yM]/.test(value) ? undefined : parseTime(value);
      if (result === undefined) throw new ArgError(`invalid value "${value}"`, 'a time is written like 500ms, 10s, 1m, 1h 30m, 1d');
      return result;
    },
  };
}

/** `on` or `off`. */
export function flag(): ArgType<boolean> {
  return {
    kind: 'flag',
    form: 'on | off',
    parse(value) {
      const lower = value.toLowerCase();
      if (lower === 'on') return true;
      if (lower === 'off') return false;
      throw new ArgError(`invalid value "${value}"`, 'it must be "on" or "off"');
    },
  };
}

/** One of the given words. */
export function choice<const T extends string>(...words: readonly T[]): ArgType<T> {
  return {
    kind: 'choice',
    form: words.join(' | '),
    parse(value) {
      const found = words.find((word) => word === value);
      if (found === undefined) throw new ArgError(`invalid value "${value}"`, `one of: ${words.join(', ')}`);
      return found;
    },
  };
}

/** A zone of shared memory, `name:size`. */
export interface ZoneSize {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * A zone of shared memory as `limit_req_zone`, `limit_conn_zone` and `proxy_cache_path` write it: `zone=name:size`, as
 * `requiredParam('zone', zone())`.
 */
export function zone({ min = '32k' } = {}): ArgType<ZoneSize> {
  const least = bytesOf(min);
  return {
    kind: 'zone',
    form: 'name:size',
    parse(value, _context, written = value) {
      const [, name, text = ''] = /^([^:]+):(.*)$/s.exec(value) ?? [];
      const bytes = SIZE.test(text) ? bytesOf(text) : undefined;
      if (name === undefined || bytes === undefined)
        throw new ArgError(`invalid zone size "${written}"`, 'a zone is a name and a size: one:10m');
      if (bytes < least) throw new ArgError(`zone "${written}" is too small`, `at least ${min}`);
      return { name, size: bytes };
    },
  };
}

const RATE_SECONDS: Readonly<Record<string, number>> = { 'r/s': 1, 'r/m': 60, '': 1 };

/** Requests per second or minute, `10r/s`, `30r/m`, in thousandths of a request per second, rounded down as nginx does (`limit_req_zone`). */
export function requestRate(): ArgType<number> {
  return {
    kind: 'text',
    form: 'rate',
    parse(value, _context, written = value) {
      const [, count = '', unit = ''] = /^(\d{1,9})(r\/[sm])?$/.exec(value) ?? [];
      if (Number(count) < 1) throw new ArgError(`invalid rate "${written}"`, 'requests per second or minute: 10r/s, 30r/m');
      return Math.floor((Number(count) * 1000) / (RATE_SECONDS[unit] ?? 1));
    },
  };
}

/** Text with variables, compiled once. */
export function template(form = 'string'): ArgType<Template> {
  return { kind: 'template', form, parse: (value, context) => context.template(value) };
}

/** A path of the file system; relative ones are under the prefix. */
export function path(): ArgType<string> {
  return { kind: 'path', form: 'path', parse: (value, context) => context.path(value) };
}

/** A path of a file that belongs to the configuration, as certificates do; relative ones are under the folder of the configuration file. */
export function confPath(): ArgType<string> {
  return { kind: 'path', form: 'path', parse: (value, context) => context.path(value, 'conf') };
}

/** A positional argument that may be missing. */
export function optional<T>(type: ArgType<T>): ArgType<T | undefined>;
export function optional<T, const A>(type: ArgType<T>, absent: A): ArgType<T | A>;
export function optional<T, A>(type: ArgType<T>, absent?: A): ArgType<T | A | undefined> {
  return { kind: 'optional', form: `[${type.form}]`, parse: type.parse, absent, of: type };
}

/** All arguments that follow, at least `least` of them. Stands last among the positional ones. */
export function rest<T>(type: ArgType<T>, least = 1): ArgType<readonly T[]> {
  return { kind: 'rest', form: `${type.form} ...`, parse: (value, context) => [type.parse(value, context)], least, absent: [], of: type };
}

/** The bare word `key`, anywhere after the positional arguments: present or not. */
export function word(key: string): ArgType<boolean> {
  return { kind: 'word', form: `[${key}]`, key, parse: () => true, absent: false };
}

/** `key=value`, anywhere after the positional arguments. */
export function param<T>(key: string, type: ArgType<T>): ArgType<T | undefined>;
export function param<T, const A>(key: string, type: ArgType<T>, absent: A): ArgType<T | A>;
export function param<T, A>(key: string, type: ArgType<T>, absent?: A): ArgType<T | A | undefined> {
  return { kind: 'param', form: `[${key}=${type.form}]`, key, parse: type.parse, absent, of: type };
}

/** `key=value` that has to be there: `limit_req_zone $key zone=one:10m rate=1r/s`. */
export function requiredParam<T>(key: string, type: ArgType<T>): ArgType<T> {
  return { kind: 'param', form: `${key}=${type.form}`, key, parse: type.parse, required: true, of: type };
}
