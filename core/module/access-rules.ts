/** Access by the address of the client, as `allow` and `deny` lines say. */
import type { Clients } from './network.js';
import type { Directive } from './tree.js';

/** What rules say of a client; undefined: none of them is about it. */
export type Decision = (address: string) => boolean | undefined;

/** One `allow` or `deny` line. */
export interface AccessRule {
  readonly allows: boolean;
  readonly fits: Clients;
  readonly line: Directive;
}

interface Values {
  readonly allow: readonly Clients[];
  readonly deny: readonly Clients[];
}

/**
 * `allow` and `deny` lines as one list: the first that fits decides.
 * @param lines the block, for the order in which they are written
 * @param conf the values of those in it
 */
export function accessRules(lines: Iterable<Directive>, conf: Values): Decision {
  const rules = rulesIn(lines, conf);
  return (address) => rules.find((rule) => rule.fits(address))?.allows;
}

/** The rules of {@link accessRules}, to say which of them decides. */
export function rulesIn(lines: Iterable<Directive>, conf: Values): readonly AccessRule[] {
  const [allows, denies] = [[...conf.allow], [...conf.deny]];
  const rules: AccessRule[] = [];
  for (const line of lines) {
    const fits = line.name === 'allow' ? allows.shift() : line.name === 'deny' ? denies.shift() : undefined;
    if (fits !== undefined) rules.push({ allows: line.name === 'allow', fits, line });
  }
  return rules;
}
