/** Access by the address of the client, as `allow` and `deny` lines say. */
import type { Clients } from './network.js';
import type { Directive } from './tree.js';

/** What rules say of a client; undefined: none of them is about it. */
export type Decision = (address: string) => boolean | undefined;

/**
 * `allow` and `deny` lines as one list: the first that fits decides.
 * @param lines the block, for the order in which they are written
 * @param conf the values of those in it
 */
export function accessRules(
  lines: Iterable<Directive>,
  conf: { readonly allow: readonly Clients[]; readonly deny: readonly Clients[] },
): Decision {
  const [allows, denies] = [[...conf.allow], [...conf.deny]];
  const rules: { readonly allows: boolean; readonly fits: Clients }[] = [];
  for (const { name } of lines) {
    const fits = name === 'allow' ? allows.shift() : name === 'deny' ? denies.shift() : undefined;
    if (fits !== undefined) rules.push({ allows: name === 'allow', fits });
  }
  return (address) => rules.find((rule) => rule.fits(address))?.allows;
}
