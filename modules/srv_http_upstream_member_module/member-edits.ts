import type { Edit } from '../../core/module/services.js';
import type { Directive } from '../../core/module/tree.js';
import { alreadyThere, ListedMembers } from './listed-members.js';
import { changedMember, newMember, type GroupRules, type MemberFields, type Wanted } from './member-fields.js';
import type { MemberIndex } from './member-index.js';
import { readServerLine, sameSettings, serverLine } from './server-line.js';

/** A group while a transaction has its turn. */
export interface GroupTurn {
  readonly directive: Directive;
  readonly index: MemberIndex;
  readonly rules: GroupRules;
}

/** @throws ApiError 400, 409 */
export function additionOf(fields: MemberFields, { directive, index, rules }: GroupTurn): Edit {
  const wanted = newMember(fields, rules);
  assertFree(wanted, index);
  return { op: 'add', parent: directive, text: serverLine(wanted.settings) };
}

/** Nothing where the change changes nothing. @throws ApiError 400, 409 */
export function changeOf(member: Directive, fields: MemberFields, { index, rules }: GroupTurn): Edit[] {
  const before = readServerLine(member);
  const wanted = changedMember(before, fields, rules);
  // A file may name an address twice: each of the two can be changed.
  if (wanted.isElsewhere) assertFree(wanted, index);
  return sameSettings(before, wanted.settings) ? [] : [{ op: 'replace', target: member, text: serverLine(wanted.settings) }];
}

/**
 * What makes the members of a group these: those at the same address stay who they are.
 * @throws ApiError 400, 409, with everything that is wrong and its place in the list
 */
export function replacementOf(list: readonly MemberFields[], turn: GroupTurn): Edit[] {
  const { directive } = turn;
  const edits: Edit[] = [];
  const chosen = new ListedMembers(list, turn);
  for (const [position, fields] of list.entries()) {
    const { member, wanted } = chosen.take(position, fields) ?? {};
    if (wanted === undefined) continue;
    if (member === undefined) edits.push({ op: 'add', parent: directive, text: serverLine(wanted.settings) });
    else edits.push(...unlessSame(member, wanted));
  }
  chosen.assertRight();
  for (const member of directive.block?.named('server') ?? []) if (!chosen.keeps(member)) edits.push({ op: 'remove', target: member });
  return edits;
}

/** How the line names its server, and whether it is resolved again and again, stays. */
function unlessSame(member: Directive, { settings }: Wanted): Edit[] {
  const before = readServerLine(member);
  const wanted = { ...settings, server: before.server, resolve: before.resolve };
  return sameSettings(before, wanted) ? [] : [{ op: 'replace', target: member, text: serverLine(wanted) }];
}

function assertFree(wanted: Wanted, index: MemberIndex): void {
  const id = index.at(wanted.address.canonical);
  if (id !== undefined) throw alreadyThere(wanted, { id });
}
