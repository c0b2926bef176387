import { ApiError, type Call } from '../../core/contract/control.js';
import type { DataPlane } from '../../core/contract/data-plane.js';
import { plusError } from './errors.js';

/** The key-value store as the one zone of NGINX Plus that it is to its clients. */
export const ZONE = 'kv';

const PAGE = 1000;
/** Characters of pairs in one response. */
const MOST = 32 * 1024 * 1024;

type Keyval = string | null | { readonly value?: string; readonly expire?: number };
type Pairs = Readonly<Record<string, Keyval>>;
interface PairPage {
  readonly pairs: readonly { readonly key: string; readonly value: string }[];
  readonly more: boolean;
}

export function assertZone(zone = ''): void {
  if (zone !== ZONE) throw plusError('KeyvalNotFound', `keyval zone "${zone}" not found, there is "${ZONE}" alone`);
}

export class Keyvals {
  constructor(private readonly dataPlane: DataPlane) {}

  async all(call: Call): Promise<Readonly<Record<string, string>>> {
    const all = new Map<string, string>();
    let size = 0;
    for (let after = ''; ;) {
      const { pairs, more } = await this.dataPlane.call<PairPage>('kv.list', { prefix: '', after, limit: PAGE }, call);
      for (const { key, value } of pairs) {
        all.set(key, value);
        size += key.length + value.length;
      }
      if (!more) return Object.fromEntries(all);
      if (size > MOST) throw new ApiError(500, 'ResponseTooLong', 'the zone is too large for one response: list it with /v1/kv');
      after = pairs.at(-1)?.key ?? '';
    }
  }

  async get(key: string, call: Call): Promise<string> {
    const { value } = await this.dataPlane.call<{ value: string }>('kv.get', { key }, call);
    return value;
  }

  async add(pairs: Pairs, call: Call): Promise<void> {
    const [key, keyval] = onlyPair(pairs, 'added');
    const { value, expire = 0 } = parts(keyval);
    if (value === undefined) throw formatError('value required');
    try {
      await this.dataPlane.call('kv.set', { key, value, ttl: expire }, { ...call, ifNoneMatch: '*' });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'VersionMismatch') throw plusError('KeyvalKeyExists', `key "${key}" already exists`);
      throw error;
    }
  }

  async change(pairs: Pairs, call: Call): Promise<void> {
    const [key, keyval] = onlyPair(pairs, 'updated');
    if (keyval === null) {
      await this.dataPlane.call('kv.delete', { key }, call);
      return;
    }
    const { value, expire = 0 } = parts(keyval);
    try {
      await this.#replace(key, value, expire, call);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'VersionMismatch') throw plusError('KeyvalKeyNotFound', `key "${key}" not found`);
      throw error;
    }
  }

  async clear(call: Call): Promise<void> {
    await this.dataPlane.call('kv.clear', {}, call);
  }

  /** @param value undefined: it stays */
  async #replace(key: string, value: string | undefined, ttl: number, call: Call): Promise<void> {
    if (value !== undefined) {
      await this.dataPlane.call('kv.set', { key, value, ttl }, { ...call, ifMatch: '*' });
      return;
    }
    const old = await this.dataPlane.call<{ value: string; version: string }>('kv.get', { key }, call);
    await this.dataPlane.call('kv.set', { key, value: old.value, ttl }, { ...call, ifMatch: `"${old.version}"` });
  }
}

function onlyPair(pairs: Pairs, done: string): readonly [key: string, keyval: Keyval] {
  const [first, ...others] = Object.entries(pairs);
  if (first === undefined || first[0] === '') throw formatError('key required');
  if (others.length > 0) throw formatError(`only one key can be ${done}`);
  return first;
}

function parts(keyval: Keyval): { readonly value?: string; readonly expire?: number } {
  return typeof keyval === 'string' ? { value: keyval } : (keyval ?? {});
}

function formatError(text: string): ApiError {
  return plusError('KeyvalFormatError', text);
}
