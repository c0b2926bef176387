import { number, size, time } from '../../core/contract/args.js';
import { KEY_VALUE_DEFAULTS, type KeyValueSettings } from '../../core/contract/key-value.js';
import type { InputFile } from '../../core/contract/resource.js';
import { ArgError, type ArgContext } from '../../core/contract/spec.js';

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

/**
 * Settings in the file that `dyn_kv_conf` names: lines `name value;` and comments.
 * @param context makes paths absolute
 */
export function kvConf(file: InputFile, context: ArgContext): KeyValueSettings {
  let settings = KEY_VALUE_DEFAULTS;
  file.each(file.text.split('\n').entries(), ([index, line]) => {
    const statement = line.replace(/#.*/, '').trim();
    if (statement === '') return;
    const [, name = '', value = ''] = /^(\S+)\s+([^;]+?)\s*;$/.exec(statement) ?? [];
    const set = Object.hasOwn(SETTERS, name) ? SETTERS[name] : undefined;
    if (name === '') file.fail(index + 1, 'invalid line in the key-value configuration', 'a line is written: name value;');
    if (set === undefined) file.fail(index + 1, `unknown directive "${name}"`, `it may be: ${Object.keys(SETTERS).join(', ')}`);
    try {
      settings = set(settings, value, context);
    } catch (error) {
      if (!(error instanceof ArgError)) throw error;
      file.fail(index + 1, error.message, error.hint);
    }
  });
  return settings;
}
