import { coreModule } from '../../core/contract/manifest.js';
import { parseNetwork } from '../../core/contract/network.js';
import { objectSchema, sameJson } from '../../core/toolkit/setting-fields.js';
import { fieldSet, type ChangedFields, type Setting, type SettingCall } from '../../core/contract/setting.js';
import type { JsonSchema } from '../../core/contract/spec.js';
import type { Directive, NewDirective } from '../../core/contract/tree.js';
import { maskedNetwork, networkText, type Family } from './address-mask.js';
import { byKind, joined, parseRule, ruleText, type Rule } from './rules.js';

interface MaskedRule {
  readonly rule: 'allow' | 'deny';
  readonly addr: string;
  /** The number of bits may be a number. */
  readonly mask?: string | number;
}
/** The same rules: all of them, and the ones that apply to clients of one family. */
interface Fields {
  readonly accessIpv4?: readonly MaskedRule[];
  readonly accessIpv6?: readonly MaskedRule[];
  readonly access?: readonly string[];
}

const FAMILIES = { ipv4: 'accessIpv4', ipv6: 'accessIpv6' } as const;
type FamilyField = (typeof FAMILIES)[Family];

function maskedRules(doc: string, mask: string): JsonSchema {
  const rule = { type: 'string', enum: ['allow', 'deny'] };
  const item = objectSchema({ rule, addr: { type: 'string' }, 'mask?': { type: ['string', 'integer'], description: mask } });
  return { type: 'array', description: doc, items: item };
}

const rules = fieldSet<Fields>({
  fields: {
    accessIpv4: maskedRules(
      'Rules for IPv4 clients; the first that fits decides.',
      '`255.0.0.0` or a number of bits; absent: one address.',
    ),
    accessIpv6: maskedRules(
      'Rules for IPv6 clients; the first that fits decides.',
      '`ffff:ffff::` or a number of bits; absent: one address.',
    ),
    access: { type: 'array', description: 'All rules: `allow 10.0.0.0/8`, `deny all`.', items: { type: 'string', maxLength: 100 } },
  },
  directives: ['allow', 'deny'],
  read(lines) {
    const all = rulesOf(lines);
    if (all.length === 0) return {};
    const { ipv4, ipv6 } = byKind(all);
    return { accessIpv4: ipv4.map(shownRule), accessIpv6: ipv6.map(shownRule), access: all.map(ruleText) };
  },
  write(fields, lines, call) {
    const { access } = fields;
    const all =
      access === undefined ? joined({ ...byKind(rulesOf(lines)), ...changedFamilies(fields, call) }) : parsedRules(access ?? [], call);
    if (access !== undefined) assertSame(fields, all, call);
    return all.map(({ rule, of }): NewDirective => ({ name: rule, words: [of], pointer: call.pointer }));
  },
});

function rulesOf(lines: readonly Directive[]): readonly Rule[] {
  return lines.map(({ name, args }) => ({ rule: name === 'allow' ? 'allow' : 'deny', of: args[0]?.text ?? '' }));
}

function shownRule({ rule, of }: Rule): MaskedRule {
  const network = parseNetwork(of);
  return network === undefined ? { rule, addr: of } : { rule, ...maskedNetwork(network) };
}

function parsedRules(texts: readonly string[], call: SettingCall): readonly Rule[] {
  return texts.flatMap((text, i) => {
    const rule = parseRule(text);
    if (rule === undefined) call.reject(`/access/${i}`, 'must be a rule such as "allow 10.0.0.0/8", "deny unix:", "deny all"');
    return rule ?? [];
  });
}

/** The rules of the families that the call names. */
function changedFamilies(fields: ChangedFields<Fields>, call: SettingCall): Partial<Record<Family, readonly Rule[]>> {
  const changed: Partial<Record<Family, readonly Rule[]>> = {};
  for (const [family, field] of Object.entries(FAMILIES) as [Family, FamilyField][]) {
    const items = fields[field];
    if (items !== undefined) changed[family] = (items ?? []).flatMap((item, i) => familyRule(item, family, `/${field}/${i}`, call) ?? []);
  }
  return changed;
}

function familyRule({ rule, addr, mask }: MaskedRule, family: Family, place: string, call: SettingCall): Rule | undefined {
  const network = networkText(addr, mask, family);
  if ('text' in network) return { rule, of: network.text };
  const kind = family === 'ipv4' ? 'IPv4' : 'IPv6';
  call.reject(
    `${place}/${network.wrong}`,
    network.wrong === 'addr' ? `must be an ${kind} address` : `must be an ${kind} mask or a number of bits`,
  );
  return undefined;
}

/** A call that changes the list of a family beside `access` has to mean the same by both. */
function assertSame(fields: ChangedFields<Fields>, all: readonly Rule[], call: SettingCall): void {
  const meant = byKind(all);
  const said = changedFamilies(fields, call);
  for (const [family, field] of Object.entries(FAMILIES) as [Family, FamilyField][])
    if (said[family] !== undefined && !sameJson(said[family], meant[family]))
      call.reject(`/${field}`, 'contradicts "access": send one of them');
}

const setting: Setting = {
  key: 'http_dyn_bwlist',
  summary: 'access rules by client address',
  engine: 'http',
  server: [rules],
  location: [rules],
};

/** Access rules by client address, changed at run time: `/v1/config/http_dyn_bwlist`. The directives are allow and deny. */
@coreModule({ name: 'srv_http_dyn_bwlist_module', api: '1.2', settings: [setting] })
export class DynBwlist {}
