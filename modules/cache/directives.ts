import { argType } from '../../core/contract/arg-type.js';
import {
  choice,
  copies,
  fieldName,
  flag,
  number,
  param,
  path,
  requiredParam,
  rest,
  size,
  template,
  time,
  zone,
} from '../../core/contract/args.js';
import { ArgError, directive, type ArgType, type Conf } from '../../core/contract/spec.js';
import { prefixed, type Prefixed } from '../../core/toolkit/exchange/prefix.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

export const STALE = [
  'error',
  'timeout',
  'invalid_header',
  'updating',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
  'http_403',
  'http_404',
  'http_429',
  'off',
] as const;

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const;

/** Characters of a file's name: an MD5 digest in hexadecimal digits. */
const NAME_LENGTH = 32;

/** `1:2:2`: up to three levels of folders, each named by one or two characters of the file's name. */
function levels(): ArgType<readonly number[], string> {
  return argType({
    kind: 'text',
    form: 'levels',
    parse(value, _context, written = value) {
      if (/^[12](?::[12]){0,2}$/.test(value)) return value.split(':').map(Number);
      throw new ArgError(
        `invalid "levels" "${written.replace(/^levels=/, '')}"`,
        'up to three digits 1 or 2 with colons in between: levels=1:2',
      );
    },
    print: (digits) => digits.join(':'),
  });
}

/** Text with variables whose values end a matter unless they are empty or `0`. */
const conditions = { conditions: rest(template()) };

/** `200 302 10m`: statuses, `any`, or none, and a time. */
const validity = { words: rest(validityWord()) };

function validityWord(): ArgType<string, string> {
  return argType({
    kind: 'text',
    form: '[code | any …] time',
    parse(value) {
      if (value === 'any' || /^\d/.test(value)) return value;
      throw new ArgError(`invalid status "${value}"`, 'statuses, "any", and a time: 200 302 10m');
    },
    print: (word) => word,
  });
}

/** Sets of rules. */
export const RULES = ['nginx', 'rfc9111'] as const;

const DIRECTIVES = {
  cache_path: directive({
    in: ['http'],
    args: {
      path: path(),
      levels: param('levels', levels(), []),
      use_temp_path: param('use_temp_path', flag(), true),
      keys_zone: requiredParam('keys_zone', zone({ min: '64k' })),
      inactive: param('inactive', time(), 600_000),
      max_size: param('max_size', size()),
      memory: param('memory', copies()),
      min_free: param('min_free', size()),
      manager_files: param('manager_files', number({ min: 1 }), 100),
      manager_sleep: param('manager_sleep', time(), 50),
      manager_threshold: param('manager_threshold', time(), 200),
      loader_files: param('loader_files', number({ min: 1 }), 100),
      loader_sleep: param('loader_sleep', time(), 50),
      loader_threshold: param('loader_threshold', time(), 200),
    },
    many: true,
    identity: ({ args }) => args.find(({ text }) => text.startsWith('keys_zone='))?.text.split(':', 1)[0] ?? '',
    doc: 'A cache: its folder, and the shared memory for the index of what is in it.',
  }),
  cache: directive({
    in: ANYWHERE,
    dynamic: true,
    args: template('zone | off'),
    default: 'off',
    doc: 'The cache for responses of members, by the name of its zone.',
  }),
  cache_valid: directive({
    in: ANYWHERE,
    dynamic: true,
    args: validity,
    many: true,
    doc: 'How long responses with these statuses are fresh that say nothing of it themselves; without statuses: 200, 301 and 302.',
  }),
  cache_min_uses: directive({
    in: ANYWHERE,
    dynamic: true,
    args: number({ min: 1 }),
    default: '1',
    doc: 'Requests for a key after which its response is stored.',
  }),
  cache_methods: directive({
    in: ANYWHERE,
    dynamic: true,
    args: { methods: rest(choice(...METHODS)) },
    default: 'GET HEAD',
    doc: 'Methods whose responses are stored. GET and HEAD always are.',
  }),
  cache_bypass: directive({
    in: ANYWHERE,
    dynamic: true,
    args: conditions,
    doc: 'The response is not taken from the cache if one of these texts is neither empty nor "0".',
  }),
  no_cache: directive({
    in: ANYWHERE,
    dynamic: true,
    args: conditions,
    doc: 'The response is not stored if one of these texts is neither empty nor "0".',
  }),
  cache_lock: directive({
    in: ANYWHERE,
    dynamic: true,
    args: flag(),
    default: 'off',
    doc: 'Only one request for a new key is passed on; the others wait for its response.',
  }),
  cache_lock_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '5s',
    doc: 'A request that has waited as long for another one is passed on; its response is not stored.',
  }),
  cache_lock_age: directive({
    in: ANYWHERE,
    args: time(),
    default: '5s',
    doc: 'If the request that others wait for has not completed within this time, one more is passed on.',
  }),
  cache_lock_streaming: directive({
    in: ANYWHERE,
    dynamic: true,
    args: flag(),
    default: 'off',
    doc: 'Requests that wait for the response to another one get it while it arrives, each as fast as its client reads.',
  }),
  cache_use_stale: directive({
    in: ANYWHERE,
    dynamic: true,
    args: { cases: rest(choice(...STALE)) },
    default: 'off',
    doc: 'Cases in which a stored response is used that is not fresh any more.',
  }),
  cache_background_update: directive({
    in: ANYWHERE,
    dynamic: true,
    args: flag(),
    default: 'off',
    doc: 'Renews a response in the background while the stale one is used. Needs "updating" in the directive for stale responses, or a response that allows it.',
  }),
  cache_revalidate: directive({
    in: ANYWHERE,
    dynamic: true,
    args: flag(),
    default: 'off',
    doc: 'Renews responses by conditional requests, with If-Modified-Since and If-None-Match.',
  }),
  cache_convert_head: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Passes HEAD on as GET, so that its response can be stored.',
  }),
  cache_max_range_offset: directive({
    in: ANYWHERE,
    args: size(),
    doc: 'A request for a range that begins after this offset is passed on as it is, and its response is not stored.',
  }),
  cache_rules: directive({
    in: ANYWHERE,
    dynamic: true,
    args: choice(...RULES),
    default: 'nginx',
    doc: 'Which responses are stored and used: by the rules of nginx, or by those of RFC 9111 for a shared cache.',
  }),
  cache_status: directive({
    in: ANYWHERE,
    dynamic: true,
    args: flag(),
    default: 'off',
    doc: 'Adds the field Cache-Status to responses (RFC 9211): what the cache did with the request.',
  }),
  cache_purge: directive({
    in: ANYWHERE,
    args: conditions,
    doc: 'Removes the response with the key of the request if one of these texts is neither empty nor "0": 204, or 404 if there is none. A key that ends with "*" stands for all that begin with the text before it.',
  }),
  cache_tag_header: directive({
    in: ANYWHERE,
    args: { names: rest(fieldName()) },
    default: 'Cache-Tag Surrogate-Key',
    doc: 'Fields of responses with tags, separated by commas or spaces: the API purges by a tag.',
  }),
};

function directivesOf(key: string | undefined) {
  const doc = `The key of a response.${key === undefined ? '' : ' The default has the URI that members get in place of $request_uri, where they differ.'}`;
  const cacheKey = { in: ANYWHERE, args: template(), doc };
  return { ...DIRECTIVES, cache_key: directive({ ...cacheKey, default: key ?? '""' }) };
}

export type AllCacheDirectives = ReturnType<typeof directivesOf>;

/** Their values by their names without the prefix. */
export type CacheConf = Conf<AllCacheDirectives>;

/** @param key default of `cache_key`; undefined: it has to be written */
export function cacheDirectives<const P extends string>(prefix: P, key?: string): Prefixed<P, AllCacheDirectives> {
  return prefixed(prefix, directivesOf(key));
}

export const CACHE_NAMES = [...Object.keys(DIRECTIVES), 'cache_key'] as (keyof AllCacheDirectives)[];

export type CachePath = CacheConf['cache_path'][number];
export type StaleCase = (typeof STALE)[number];

/** Path of the file with this name below the folder of a cache, in the layout of nginx: the levels are the last characters of the name. */
export function filePath({ path: folder, levels: digits }: Pick<CachePath, 'path' | 'levels'>, name: string): string {
  let end = NAME_LENGTH;
  let at = folder;
  for (const count of digits) {
    at += `/${name.slice(end - count, end)}`;
    end -= count;
  }
  return `${at}/${name}`;
}
