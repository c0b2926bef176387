import { KeyValueSpace } from '../changes/key-value-space.js';
import {
  KeyValue,
  type KeyValuePage,
  type KeyValueSettings,
  type PairCall,
  type PairListener,
  type PairWatch,
  type PairWrite,
} from '../contract/key-value.js';
import type { Log } from '../contract/log.js';
import { stackOf } from '../contract/thrown.js';
import type { LimitedCall } from './call-limit.js';
import type { Belonging } from './module-life.js';

/** The key-value pairs as one module sees them: what it watches ends with it. */
export class ModuleKeyValue extends KeyValue implements Belonging {
  readonly #watches = new Set<PairWatch>();

  /**
   * @param module its name
   * @param log the server's, without the module's name
   */
  constructor(
    private readonly module: string,
    private readonly pairs: KeyValue,
    private readonly log: Log,
    private readonly limited: LimitedCall,
  ) {
    super();
  }

  close(): void {
    for (const watch of this.#watches) watch.end();
    this.#watches.clear();
  }

  get(key: string): string | undefined {
    return this.pairs.get(key);
  }

  version(key: string): string | undefined {
    return this.pairs.version(key);
  }

  set(key: string, value: string, options?: PairWrite & { ttl?: number }): Promise<void> {
    return this.pairs.set(key, value, options);
  }

  delete(key: string, options?: PairWrite): Promise<boolean> {
    return this.pairs.delete(key, options);
  }

  clear(options?: PairCall): Promise<number> {
    return this.pairs.clear(options);
  }

  ttl(key: string): number | undefined {
    return this.pairs.ttl(key);
  }

  list(options: Parameters<KeyValue['list']>[0]): KeyValuePage {
    return this.pairs.list(options);
  }

  configure(settings: KeyValueSettings): void {
    this.pairs.configure(settings);
  }

  watch(prefix: string, changed: PairListener): PairWatch {
    const watch = this.pairs.watch(prefix, (key, value) => this.#attempt(() => changed(key, value)));
    this.#watches.add(watch);
    return {
      end: () => {
        this.#watches.delete(watch);
        watch.end();
      },
    };
  }

  space(name: string): KeyValue {
    return new KeyValueSpace(this, name);
  }

  #attempt(step: () => void): void {
    try {
      this.limited(step);
    } catch (error) {
      this.log.write('error', `module "${this.module}": watching key-value pairs failed: ${stackOf(error)}`);
    }
  }
}
