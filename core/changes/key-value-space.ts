import { KeyValue, type KeyValuePage, type PairCall, type PairListener, type PairWatch, type PairWrite } from '../contract/key-value.js';

type ListOptions = Parameters<KeyValue['list']>[0];

/** The pairs whose keys begin with the name of a space, without it. */
export class KeyValueSpace extends KeyValue {
  readonly #prefix: string;

  constructor(
    private readonly pairs: KeyValue,
    name: string,
  ) {
    super();
    if (!/^[\w.-]+$/.test(name)) throw new RangeError(`the name of a space may have letters, digits, ".", "_" and "-", not "${name}"`);
    this.#prefix = `${name}/`;
  }

  get(key: string): string | undefined {
    return this.pairs.get(this.#prefix + key);
  }

  version(key: string): string | undefined {
    return this.pairs.version(this.#prefix + key);
  }

  set(key: string, value: string, options?: PairWrite & { ttl?: number }): Promise<void> {
    return this.pairs.set(this.#prefix + key, value, options);
  }

  delete(key: string, options?: PairWrite): Promise<boolean> {
    return this.pairs.delete(this.#prefix + key, options);
  }

  async clear({ dryRun = false }: PairCall = {}): Promise<number> {
    const { pairs } = this.list({ limit: Infinity });
    if (!dryRun) for (const { key } of pairs) await this.delete(key);
    return pairs.length;
  }

  ttl(key: string): number | undefined {
    return this.pairs.ttl(this.#prefix + key);
  }

  list({ prefix = '', after, ...options }: ListOptions): KeyValuePage {
    const own = { prefix: this.#prefix + prefix, ...(after !== undefined && { after: this.#prefix + after }) };
    const page = this.pairs.list({ ...options, ...own });
    return { ...page, pairs: page.pairs.map(({ key, value }) => ({ key: this.#own(key), value })) };
  }

  watch(prefix: string, changed: PairListener): PairWatch {
    return this.pairs.watch(this.#prefix + prefix, (key, value) => changed(this.#own(key), value));
  }

  space(name: string): KeyValue {
    return new KeyValueSpace(this, name);
  }

  configure(): never {
    throw new Error('a space of the key-value store has the settings of the store');
  }

  #own(key: string): string {
    return key.slice(this.#prefix.length);
  }
}
