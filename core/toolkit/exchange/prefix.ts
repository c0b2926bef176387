/** Directives that several modules have under names of their own: `proxy_read_timeout`, `fastcgi_read_timeout`. */
import type { Conf, Directives } from '../../contract/spec.js';

/** Directives whose names begin with a prefix. */
export type Prefixed<P extends string, D> = { readonly [K in keyof D & string as `${P}_${K}`]: D[K] };

/** Adds the prefix and an underscore to all names. */
export function prefixed<const P extends string, D extends Directives>(prefix: P, directives: D): Prefixed<P, D> {
  return Object.fromEntries(Object.entries(directives).map(([name, spec]) => [`${prefix}_${name}`, spec])) as Prefixed<P, D>;
}

/**
 * Makes views of configurations that have the values of these directives by their names without the prefix. A view reads a value when it is asked
 * for, as the configuration itself does: thousands of locations use few of the names. Values that places inherit from one line stay the same objects.
 */
export function unprefixer<D extends Directives>(prefix: string, names: readonly string[]): (conf: object) => Conf<D> {
  class Unprefixed {
    readonly #conf: Readonly<Record<string, unknown>>;

    constructor(conf: object) {
      this.#conf = conf as Readonly<Record<string, unknown>>;
    }

    static value(view: Unprefixed, name: string): unknown {
      return view.#conf[name];
    }
  }
  for (const name of names) {
    const own = `${prefix}_${name}`;
    const get = function (this: Unprefixed): unknown {
      return Unprefixed.value(this, own);
    };
    Object.defineProperty(Unprefixed.prototype, name, { get, enumerable: true });
  }
  return (conf) => new Unprefixed(conf) as unknown as Conf<D>;
}
