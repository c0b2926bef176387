/** What writers know of the things they changed through the API: what was answered, and what was under way when a process was killed. */

/** By the name of a thing its content; undefined: it is not there. */
export type Effects = ReadonlyMap<string, string | undefined>;

export class ChangeLedger {
  readonly #sure = new Map<string, string | undefined>();
  /** Calls that were sent and not answered: each is active as a whole or not at all. */
  #open = new Set<Effects>();

  /** Of an answered thing. */
  get(thing: string): string | undefined {
    return this.#sure.get(thing);
  }

  /** True while nobody knows what a call has made of it. */
  isOpen(thing: string): boolean {
    return [...this.#open].some((effects) => effects.has(thing));
  }

  begin(effects: Effects): void {
    this.#open.add(effects);
  }

  answered(effects: Effects): void {
    this.#open.delete(effects);
    for (const [thing, content] of effects) this.#sure.set(thing, content);
  }

  /** The call certainly changed nothing. */
  refused(effects: Effects): void {
    this.#open.delete(effects);
  }

  /** Compares with what is there, and goes on from it. @throws Error that says what was lost */
  check(there: ReadonlyMap<string, string>): void {
    for (const effects of this.#open) this.#settle(effects, there);
    this.#open = new Set();
    for (const thing of new Set([...this.#sure.keys(), ...there.keys()])) {
      const [wanted, found] = [this.#sure.get(thing), there.get(thing)];
      if (wanted !== found) throw new Error(`${thing} is ${String(found)}, but ${String(wanted)} was answered`);
    }
  }

  #settle(effects: Effects, there: ReadonlyMap<string, string>): void {
    const made = [...effects].filter(([thing, content]) => there.get(thing) === content);
    const unmade = [...effects].filter(([thing]) => there.get(thing) === this.#sure.get(thing));
    if (made.length === effects.size) this.answered(effects);
    else if (unmade.length < effects.size)
      throw new Error(`a call was carried out by half: ${JSON.stringify([...effects])}, there is ${JSON.stringify([...there])}`);
  }
}
