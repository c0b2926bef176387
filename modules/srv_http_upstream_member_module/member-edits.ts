import { ApiError } from '../../core/module/control.js';
import type { Edit } from '../../core/module/services.js';
import type { Directive } from '../../core/module/tree.js';
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
  assertFree(wanted, undefined, index);
  return { op: 'add', parent: directive, text: serverLine(wanted.settings) };
}

/** Nothing where the change changes nothing. @throws ApiError 400, 409 */
export function changeOf(member: Directive, fields: MemberFields, { index, rules }: GroupTurn): Edit[] {
  const before = readServerLine(member);
  const wanted = changedMember(before, fields, rules);
  assertFree(wanted, member.key, index);
  return sameSettings(before, wanted.settings) ? [] : [{ op: 'replace', target: member, text: serverLine(wanted.settings) }];
}

/**
 * What makes the members of a group these: those at the same address stay who they are.
 * @throws ApiError 400, 409, with the place of the entry in the list
 */
export function replacementOf(list: readonly MemberFields[], turn: GroupTurn): Edit[] {
  const { directive, index, rules } = turn;
  const edits: Edit[] = [];
  const kept = new Set<number>();
  const seen = new Map<string, number>();
  for (const [position, fields] of list.entries()) {
    // The further addresses of a name come with the member that has the name.
    if (fields.parent !== undefined) continue;
    const wanted = inList(position, () => newMember(fields, allowingNames(rules, fields, index)));
    const first = seen.get(wanted.address.canonical);
    if (first !== undefined) throw exists(wanted, { pointers: [`/${first}`, `/${position}`] });
    seen.set(wanted.address.canonical, position);
    const key = index.at(wanted.address.canonical);
    const member = key === undefined ? undefined : index.get(key);
    if (member?.key === undefined) edits.push({ op: 'add', parent: directive, text: serverLine(wanted.settings) });
    else {
      kept.add(member.key);
      edits.push(...unlessSame(member, wanted));
    }
  }
  for (const member of directive.block?.named('server') ?? []) {
    if (member.key !== undefined && !kept.has(member.key)) edits.push({ op: 'remove', target: member });
  }
  return edits;
}

/** How the line names its server, and whether it is resolved again and again, stays. */
function unlessSame(member: Directive, { settings }: Wanted): Edit[] {
  const before = readServerLine(member);
  const wanted = { ...settings, server: before.server, resolve: before.resolve };
  return sameSettings(before, wanted) ? [] : [{ op: 'replace', target: member, text: serverLine(wanted) }];
}

/** A name that is a member already needs no resolver to stay one. */
function allowingNames(rules: GroupRules, { server, host }: MemberFields, index: MemberIndex): GroupRules {
  const name = (host ?? server ?? '').toLowerCase();
  const known = index.at(name) ?? index.at(`${name}:80`);
  return known === undefined ? rules : { ...rules, hasResolver: true };
}

function assertFree(wanted: Wanted, own: number | undefined, index: MemberIndex): void {
  const id = index.at(wanted.address.canonical);
  if (id !== undefined && id !== own) throw exists(wanted, { id });
}

function exists({ address }: Wanted, detail: object): ApiError {
  return new ApiError(409, 'EntryExists', `"${address.canonical}" is a member already`, [detail]);
}

/** Which entry of the list is meant. */
function inList<T>(position: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const details = error.details.length === 0 ? [{ pointer: `/${position}` }] : error.details.map((detail) => below(position, detail));
    throw new ApiError(error.status, error.code, `/${position}: ${error.message}`, details);
  }
}

function below(position: number, detail: unknown): unknown {
  if (typeof detail !== 'object' || detail === null || !('pointer' in detail)) return detail;
  return { ...detail, pointer: `/${position}${String(detail.pointer)}` };
}
