/** What writers know of the members they made: what was acknowledged, and what was under way when the server was killed. */

/** A member as the API shows it. `tag` is unique and never changed: it says whether an id is still the same member's. */
export interface Member {
  readonly tag: number;
  readonly server: string;
  readonly weight: number;
}

export interface Listed extends Member {
  readonly id: number;
}

interface Entry {
  /** As the last response said; undefined: removed. */
  sure: Member | undefined;
  /** What a call without a response may have made of it. */
  maybe?: { readonly member: Member | undefined };
}

/** The members of one upstream. */
export class Ledger {
  readonly #entries = new Map<number, Entry>();
  /** Members whose POST, or whose line in a file, has no id yet. A line has to be there, a POST may be. */
  readonly #unknown = new Map<number, { readonly member: Member; readonly certain: boolean }>();
  /** Every id that was ever seen, with the member that had it. */
  readonly #ids = new Map<number, number>();

  /** Ids of members that are there. */
  ids(): number[] {
    return [...this.#entries].filter(([, { sure, maybe }]) => sure !== undefined && maybe === undefined).map(([id]) => id);
  }

  member(id: number): Member {
    const member = this.#entries.get(id)?.sure;
    if (member === undefined) throw new Error(`no member ${id}`);
    return member;
  }

  /** True if an address may be in use. */
  uses(server: string): boolean {
    for (const { sure, maybe } of this.#entries.values()) if (sure?.server === server || maybe?.member?.server === server) return true;
    for (const { member } of this.#unknown.values()) if (member.server === server) return true;
    return false;
  }

  /** A call to add it begins. */
  adding(member: Member): void {
    this.#unknown.set(member.tag, { member, certain: false });
  }

  added(id: number, member: Member): void {
    this.#unknown.delete(member.tag);
    this.#see(id, member);
    this.#entries.set(id, { sure: member });
  }

  /** An operator wrote it into the file of the group, while the server was down. */
  written(member: Member): void {
    this.#unknown.set(member.tag, { member, certain: true });
  }

  /** A call to change it begins. */
  changing(id: number, member: Member | undefined): void {
    this.#entries.set(id, { sure: this.member(id), maybe: { member } });
  }

  changed(id: number, member: Member | undefined): void {
    this.#entries.set(id, { sure: member });
  }

  /** A call certainly changed nothing. */
  refused(id: number): void {
    this.#entries.set(id, { sure: this.member(id) });
  }

  /** Compares with what is there after a start, and goes on from it. @throws Error that says what was lost */
  check(listed: readonly Listed[]): void {
    const there = new Map(listed.map((member) => [member.id, member]));
    if (there.size !== listed.length) throw new Error(`an id twice: ${JSON.stringify(listed)}`);
    for (const [id, entry] of this.#entries) {
      const now = there.get(id);
      there.delete(id);
      const { sure, maybe } = entry;
      if (!isSame(now, sure) && (maybe === undefined || !isSame(now, maybe.member)))
        throw new Error(`member ${id} is ${text(now)}, but was ${text(sure)}${maybe ? ` or ${text(maybe.member)}` : ''}`);
      if (now === undefined) this.#entries.set(id, { sure: undefined });
      else this.#entries.set(id, { sure: { tag: now.tag, server: now.server, weight: now.weight } });
    }
    for (const member of there.values()) this.#identify(member);
    for (const { member, certain } of this.#unknown.values()) if (certain) throw new Error(`the line of ${text(member)} is lost`);
    this.#unknown.clear();
  }

  #identify(member: Listed): void {
    const made = this.#unknown.get(member.tag)?.member;
    if (made === undefined || !isSame(member, made)) throw new Error(`nobody made ${text(member)} with id ${member.id}`);
    this.added(member.id, made);
  }

  #see(id: number, { tag }: Member): void {
    const before = this.#ids.get(id);
    if (before !== undefined && before !== tag) throw new Error(`id ${id} was given to member ${before}, and then to ${tag}`);
    this.#ids.set(id, tag);
  }
}

function isSame(a: Member | undefined, b: Member | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.tag === b.tag && a.server === b.server && a.weight === b.weight;
}

const text = (member: Member | undefined): string =>
  member === undefined ? 'not there' : `${member.server} weight=${member.weight} (member ${member.tag})`;
