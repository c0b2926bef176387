import { ApiError } from '../../core/contract/control.js';
import type { Directive } from '../../core/contract/tree.js';
import { serverLines, type ServerLine } from '../../core/toolkit/upstream.js';
import type { GroupTurn } from './member-edits.js';
import { memberAddress } from './address.js';
import { fault, newMember, replacedMember, type MemberFields, type WantedMember } from './member-fields.js';

/** An entry of a list. */
interface ListedMember {
  readonly wanted: WantedMember;
  /** The member that it is about, and its line; undefined: it is a new one. */
  readonly present: { readonly member: Directive; readonly line: ServerLine } | undefined;
}

/** The entries of a list that is to be the whole of an upstream, and the members that they are already. */
export class ListedMembers {
  readonly #faults: ApiError[] = [];
  readonly #kept = new Set<number>();
  readonly #positions = new Map<string, number>();
  /** Ids of entries that others may name as their parent. */
  readonly #parents: ReadonlySet<number | undefined>;

  constructor(
    list: readonly MemberFields[],
    private readonly turn: GroupTurn,
  ) {
    this.#parents = new Set(list.filter(({ parent }) => parent === undefined).map(({ id }) => id));
  }

  /** Request of an entry, and its member unless it is a new one. Undefined: nothing to do, or it is invalid. */
  take(position: number, fields: MemberFields): ListedMember | undefined {
    try {
      return this.#take(position, fields);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#faults.push(inList(position, error));
      return undefined;
    }
  }

  keeps({ key }: Directive): boolean {
    return key !== undefined && this.#kept.has(key);
  }

  /** @throws ApiError that names every entry that was wrong; status, code and text are those of the first */
  assertRight(): void {
    const [first, ...others] = this.#faults;
    if (first === undefined) return;
    const more = others.length > 0 ? ` (and ${others.length} more)` : '';
    const details = this.#faults.flatMap((fault) => fault.details);
    throw new ApiError(first.status, first.code, `${first.message}${more}`, details);
  }

  #take(position: number, entry: MemberFields): ListedMember | undefined {
    const { index, rules } = this.turn;
    if (entry.parent !== undefined) {
      // The further addresses of a name come with the member that has the name.
      if (!this.#parents.has(entry.parent)) throw fault('/parent', 'must be the id of another entry of the list');
      return undefined;
    }
    const fields = this.#byName(entry);
    const address = memberAddress(fields.server ?? '');
    const { canonical } = address;
    const found = index.at(canonical);
    // A file may have an address twice: the id says which of the two is meant.
    const named = fields.id !== undefined && fields.id !== found && index.isAt(fields.id, canonical) && !this.#kept.has(fields.id);
    const key = named ? fields.id : found;
    const first = this.#positions.get(canonical);
    if (first !== undefined && (key === undefined || this.#kept.has(key)))
      throw alreadyThere(canonical, { pointers: [`/${first}`, `/${position}`] });
    this.#positions.set(canonical, first ?? position);
    const member = key === undefined ? undefined : index.get(key);
    if (key === undefined || member === undefined) return { wanted: newMember(fields, rules, address), present: undefined };
    this.#kept.add(key);
    const line = serverLines.read(member);
    return { wanted: replacedMember(line, fields, rules, address), present: { member, line } };
  }

  /** An entry with the `host` that GET shows is the member of that name; its `server` is an address that the name was resolved to. */
  #byName(entry: MemberFields): MemberFields {
    const { host, server = '' } = entry;
    if (host === undefined) return entry;
    const key = this.turn.index.at(memberAddress(host).canonical);
    if (key === undefined) throw fault('/host', 'is read-only, and no server has this name: leave it out');
    if (server !== host && !this.turn.addressesOf(key).includes(server))
      throw fault('/server', `is not an address of "${host}": leave out "host" to replace the server`);
    return { ...entry, server: host };
  }
}

export function alreadyThere(canonical: string, detail: object): ApiError {
  return new ApiError(409, 'EntryExists', `server "${canonical}" already exists`, [detail]);
}

/** Says which entry of the list is meant. */
function inList(position: number, { status, code, message, details }: ApiError): ApiError {
  const placed = details.length === 0 ? [{ pointer: `/${position}/server`, message }] : details.map((detail) => below(position, detail));
  return new ApiError(status, code, `/${position}: ${message}`, placed);
}

function below(position: number, detail: unknown): unknown {
  if (typeof detail !== 'object' || detail === null || !('pointer' in detail)) return detail;
  return { ...detail, pointer: `/${position}${String(detail.pointer)}` };
}
