import type { Directives } from '../contract/spec.js';
import type { StaysOutside } from './scope.js';

/** Directives that inner blocks do not inherit, in any place they may be in. */
export function staysOutsideOf(specs: readonly Directives[]): StaysOutside {
  const inherited = new Map<string, boolean>();
  for (const [key, spec] of specs.flatMap((directives) => Object.entries(directives))) {
    const name = spec.name ?? key;
    inherited.set(name, inherited.get(name) === true || spec.inherit !== 'none');
  }
  return (name) => inherited.get(name) === false;
}
