import { argType } from '../../core/contract/arg-type.js';
import { readFileSync } from 'node:fs';
import { number, size, time } from '../../core/contract/args.js';
import type { KeyValueSettings } from '../../core/contract/key-value.js';
import { ArgError, type ArgContext, type ArgType } from '../../core/contract/spec.js';

const DEFAULTS: KeyValueSettings = { folder: undefined, maxSize: 64 * 1024 ** 2, maxKey: 1024, maxValue: 1024 ** 2 };

type Setter = (settings: KeyValueSettings, value: string, context: ArgContext) => KeyValueSettings;

const STORES = 'use "store embedded;" or "store redis NAME;"';

function inRedis(settings: KeyValueSettings, name: string): KeyValueSettings {
  if (settings.redis === undefined) throw new ArgError(`"${name}" needs a store in Redis`, 'write "store redis NAME;" before it');
  return settings;
}

const bytes = (value: string, context: ArgContext): number => size().parse(value, context);

const SETTERS: Readonly<Record<string, Setter>> = {
  store(settings, value) {
    if (value === 'embedded') return { ...settings, redis: undefined };
    const [, name] = /^redis\s+(\S+)$/.exec(value) ?? [];
    if (name === undefined) throw new ArgError(`invalid store "${value}"`, STORES);
    return { ...settings, redis: { name, write: settings.redis?.write ?? 'strict', wait: settings.redis?.wait } };
  },
  redis_write(settings, value) {
    if (value !== 'strict' && value !== 'local')
      throw new ArgError(`invalid value "${value}"`, 'use "redis_write strict;" or "redis_write local;"');
    const { redis, ...rest } = inRedis(settings, 'redis_write');
    return { ...rest, redis: redis && { ...redis, write: value } };
  },
  redis_wait(settings, value, context) {
    const [replicas = '', timeout = '', ...others] = value.split(/\s+/);
    const { redis, ...rest } = inRedis(settings, 'redis_wait');
    if (timeout === '' || others.length > 0) throw new ArgError(`invalid value "${value}"`, 'write redis_wait REPLICAS TIMEOUT;');
    const wait = { replicas: number({ min: 1 }).parse(replicas, context), timeout: time().parse(timeout, context) };
    return { ...rest, redis: redis && { ...redis, wait } };
  },
  data_folder: (settings, value, context) => ({ ...settings, folder: context.path(value) }),
  max_size: (settings, value, context) => ({ ...settings, maxSize: bytes(value, context) }),
  max_key: (settings, value, context) => ({ ...settings, maxKey: bytes(value, context) }),
  max_value: (settings, value, context) => ({ ...settings, maxValue: bytes(value, context) }),
};

/** The file that `dyn_kv_conf` names: lines `name value;` and comments. */
export function kvConf(): ArgType<KeyValueSettings> {
  return argType({
    kind: 'path',
    form: 'file',
    parse: (path, context) => readKvConf(context.path(path), context),
  });
}

function readKvConf(path: string, context: ArgContext): KeyValueSettings {
  let settings = DEFAULTS;
  for (const { name, value, line } of statements(read(path))) {
    const set = Object.hasOwn(SETTERS, name) ? SETTERS[name] : undefined;
    if (set === undefined)
      throw new ArgError(`unknown directive "${name}" in ${path}:${line}`, `it may be: ${Object.keys(SETTERS).join(', ')}`);
    try {
      settings = set(settings, value, context);
    } catch (error) {
      if (error instanceof ArgError) throw new ArgError(`${error.message} in ${path}:${line}`, error.hint);
      throw error;
    }
  }
  return settings;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ArgError(`cannot read "${path}": ${error instanceof Error ? error.message : String(error)}`);
  }
}

function* statements(text: string): Generator<{ name: string; value: string; line: number }> {
  for (const [index, content] of text.split('\n').entries()) {
    const statement = content.replace(/#.*/, '').trim();
    if (statement === '') continue;
    const match = /^(\S+)\s+([^;]+?)\s*;$/.exec(statement);
    if (match === null) throw new ArgError(`invalid line ${index + 1} in the key-value configuration`, 'a line is written: name value;');
    yield { name: match[1] ?? '', value: match[2] ?? '', line: index + 1 };
  }
}
