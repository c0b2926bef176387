/** Directives that several modules have under names of their own: `proxy_read_timeout`, `fastcgi_read_timeout`. */
import type { Conf, Directives } from '../../contract/spec.js';

/** Directives whose names begin with a prefix. */
export type Prefixed<P extends string, D> = { readonly [K in keyof D & string as `${P}_${K}`]: D[K] };

/** Adds the prefix and an underscore to all names. */
export function prefixed<const P extends string, D extends Directives>(prefix: P, directives: D): Prefixed<P, D> {
  return Object.fromEntries(Object.entries(directives).map(([name, spec]) => [`${prefix}_${name}`, spec])) as Prefixed<P, D>;
}

/** The values of these directives by their names without the prefix. Values that places inherit from one line stay the same objects. */
export function unprefixed<D extends Directives>(prefix: string, names: readonly string[], conf: object): Conf<D> {
  const values = conf as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map((name) => [name, values[`${prefix}_${name}`]])) as Conf<D>;
}
