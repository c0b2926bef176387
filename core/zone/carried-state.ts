/**
 * State in memory that a server hands to the program that replaces it (upgrade): plain data, as JSON can say it. First all of it, then what changes
 * while the program that was replaced finishes its requests.
 */
export interface CarriedState {
  /** Names the state and its form: another program takes over only what it knows by this name. */
  readonly form: string;
  /** Begins a handover. @returns gives all at its first call, later what has changed since; undefined: nothing has */
  give(): () => unknown;
  /** Called with what the other program's {@link give} returned, when the configuration is active and before workers start, and later again. */
  take(data: unknown): void;
  /** Called once with the same before the configuration is active. */
  expect?(data: unknown): void;
}

/** Amounts under one key, and by how much they have changed. */
export type AmountChange = readonly [key: string, amounts: readonly number[]];

/** Amounts that are sent once and then as changes, so that the receiver can add them to its own. */
export class SentAmounts {
  readonly #sent = new Map<string, readonly number[]>();

  /** @param amounts all that there are now */
  changes(amounts: Iterable<AmountChange>): AmountChange[] {
    const changes: AmountChange[] = [];
    const gone = new Set(this.#sent.keys());
    for (const [key, now] of amounts) {
      gone.delete(key);
      const before = this.#sent.get(key);
      if (now.every((amount, at) => amount === (before?.[at] ?? 0))) continue;
      changes.push([key, now.map((amount, at) => amount - (before?.[at] ?? 0))]);
      this.#sent.set(key, now);
    }
    for (const key of gone) {
      changes.push([key, this.#sent.get(key)!.map((amount) => -amount)]);
      this.#sent.delete(key);
    }
    return changes;
  }
}

/** Undefined for an empty list: there is nothing to send. */
export const unlessEmpty = <T>(list: readonly T[]): readonly T[] | undefined => (list.length === 0 ? undefined : list);
