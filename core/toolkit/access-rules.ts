/** Access by the address of the client, as `allow` and `deny` lines say. */
import type { Clients } from '../contract/network.js';
import type { Block, Directive } from '../contract/tree.js';

/** Verdict of the rules on a client; undefined: no rule matches. */
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
  return (address) => ruleFor(address, rules)?.allows;
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

/** A block whose directives may be `allow` and `deny`. */
interface RuleScope {
  readonly conf: Values;
  readonly directive: Directive | undefined;
  /** A scope with the same directives. */
  readonly parent?: object | undefined;
  own(name: string): boolean;
}

/** The rules of the blocks of one module. Ten thousand locations that inherit rules have the same ones, which are read once. */
export class AccessRules {
  readonly #known = new WeakMap<Block, readonly AccessRule[]>();

  /** The current rules in a block: those of the innermost level that has any of either kind. Undefined: there are none. */
  inForce(scope: RuleScope): readonly AccessRule[] | undefined {
    let level: RuleScope | undefined = scope;
    while (level !== undefined && !level.own('allow') && !level.own('deny')) level = level.parent as RuleScope | undefined;
    const block = level?.directive?.block;
    if (level === undefined || block === undefined) return undefined;
    const known = this.#known.get(block);
    if (known !== undefined) return known;
    const { allow, deny } = level.conf;
    const rules = rulesIn(block, { allow: level.own('allow') ? allow : [], deny: level.own('deny') ? deny : [] });
    this.#known.set(block, rules);
    return rules;
  }
}

/** The rule for a client: the first that fits decides. */
export function ruleFor(address: string, rules: readonly AccessRule[]): AccessRule | undefined {
  return rules.find(({ fits }) => fits(address));
}
