/** `allow` and `deny` lines, and what they say of clients of one family. */
import { parseNetwork } from '../../core/contract/network.js';
import { ANYBODY, type Family } from './address-mask.js';

export interface Rule {
  readonly rule: 'allow' | 'deny';
  /** As the directive has it: `10.0.0.0/8`, `unix:`, `all`. */
  readonly of: string;
}

/** Clients whose rules do not concern each other. */
export type Kind = Family | 'unix';
export type RulesByKind = Readonly<Record<Kind, readonly Rule[]>>;

const KINDS = ['ipv4', 'ipv6', 'unix'] as const;
const EVERYBODY = { ...ANYBODY, unix: 'unix:' } as const;

/** Undefined: it is not a rule. */
export function parseRule(text: string): Rule | undefined {
  const [, rule, of = ''] = /^(allow|deny)\s+(\S+)$/.exec(text.trim()) ?? [];
  if (rule !== 'allow' && rule !== 'deny') return undefined;
  return of === 'all' || of === 'unix:' || parseNetwork(of) !== undefined ? { rule, of } : undefined;
}

export const ruleText = ({ rule, of }: Rule): string => `${rule} ${of}`;

/** The rules that clients of each kind meet; `all` is one of each. */
export function byKind(rules: readonly Rule[]): RulesByKind {
  const of = (kind: Kind): readonly Rule[] =>
    rules.flatMap((one) => {
      if (one.of === 'all') return { rule: one.rule, of: EVERYBODY[kind] };
      return kindOf(one) === kind ? one : [];
    });
  return { ipv4: of('ipv4'), ipv6: of('ipv6'), unix: of('unix') };
}

/** One list that says the same. Where all kinds end with the same rule for everybody, this is one of `all`. */
export function joined(lists: RulesByKind): readonly Rule[] {
  const [last, ...others] = KINDS.map((kind) => lastForAll(lists[kind], kind));
  const ending = last !== undefined && others.every((rule) => rule === last) ? last : undefined;
  const rules = KINDS.flatMap((kind) => (ending === undefined ? lists[kind] : lists[kind].slice(0, -1)));
  return ending === undefined ? rules : [...rules, { rule: ending, of: 'all' }];
}

function lastForAll(rules: readonly Rule[], kind: Kind): Rule['rule'] | undefined {
  const last = rules.at(-1);
  return last?.of === EVERYBODY[kind] ? last.rule : undefined;
}

function kindOf({ of }: Rule): Kind | undefined {
  return of === 'unix:' ? 'unix' : parseNetwork(of)?.family;
}
