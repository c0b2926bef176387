import type { Edit } from '../../core/contract/transactions.js';
import type { Directive } from '../../core/contract/tree.js';
import { serverLines, type ServerLine } from '../../core/toolkit/upstream.js';
import { memberAddress } from './address.js';
import { alreadyThere, ListedMembers } from './listed-members.js';
import { changedMember, newMember, type GroupRules, type MemberFields, type WantedMember } from './member-fields.js';
import type { MemberIndex } from './member-index.js';

/** An upstream while a transaction has its turn. */
export interface GroupTurn {
  readonly directive: Directive;
  readonly index: MemberIndex;
  readonly rules: GroupRules;
  /** The addresses of the member with this key, as GET shows them. */
  addressesOf(key: number): readonly string[];
}

/** @throws ApiError 400, 409 */
export function additionOf(fields: MemberFields, { directive, index, rules }: GroupTurn): Edit {
  assertFree(fields, index);
  const wanted = newMember(fields, rules);
  return { op: 'add', parent: directive, text: serverLines.print(wanted.settings) };
}

/** Nothing where the change changes nothing. @throws ApiError 400, 409 */
export function changeOf(member: Directive, fields: MemberFields, { index, rules }: GroupTurn): Edit[] {
  const before = serverLines.read(member);
  // A file may name an address twice: each of the two can be changed.
  if (!index.isAt(member.key ?? -1, memberAddress(fields.server ?? before.server).canonical)) assertFree(fields, index);
  const wanted = changedMember(before, fields, rules);
  return unlessSame(member, before, wanted);
}

/**
 * Edits that give an upstream these members: members at the same address keep their identity.
 * @throws ApiError 400, 409, with every error and its place in the list
 */
export function replacementOf(list: readonly MemberFields[], turn: GroupTurn): Edit[] {
  const { directive } = turn;
  const edits: Edit[] = [];
  const chosen = new ListedMembers(list, turn);
  for (const [position, fields] of list.entries()) {
    const { present, wanted } = chosen.take(position, fields) ?? {};
    if (wanted === undefined) continue;
    if (present === undefined) edits.push({ op: 'add', parent: directive, text: serverLines.print(wanted.settings) });
    else edits.push(...unlessSame(present.member, present.line, wanted));
  }
  chosen.assertRight();
  for (const member of directive.block?.named('server') ?? []) if (!chosen.keeps(member)) edits.push({ op: 'remove', target: member });
  return edits;
}

function unlessSame(member: Directive, before: ServerLine, { settings }: WantedMember): Edit[] {
  return serverLines.areSame(before, settings) ? [] : [{ op: 'replace', target: member, text: serverLines.print(settings) }];
}

function assertFree({ server = '' }: MemberFields, index: MemberIndex): void {
  const { canonical } = memberAddress(server);
  const id = index.at(canonical);
  if (id !== undefined) throw alreadyThere(canonical, { id });
}
