import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

export type Json = Readonly<Record<string, unknown>>;

/**
 * Excerpt of a value with errors for the search for all of them, which is a hundred times as slow as the check that finds one: of long
 * arrays the first entries and the ones with errors, of objects the fields they may have and some of the others.
 */
export class Excerpt {
  readonly value: unknown;
  /** Of arrays that lack entries, by their pointers in the excerpt: which they have. */
  readonly #kept = new Map<string, readonly number[]>();

  /** @param most errors that are looked for */
  constructor(
    schema: unknown,
    value: unknown,
    private readonly most: number,
  ) {
    this.value = this.#of(schema, value, '');
  }

  /** The pointer into the whole value. */
  pointerOf(pointer: string): string {
    let at = '';
    const steps = pointer.split('/').map((step, level) => {
      const kept = this.#kept.get(at);
      if (level > 0) at += `/${step}`;
      return level > 0 && kept !== undefined ? String(kept[Number(step)] ?? step) : step;
    });
    return steps.join('/');
  }

  #of(schema: unknown, value: unknown, at: string): unknown {
    if (!isObject(schema)) return value;
    if (Array.isArray(value)) return this.#array(schema, value, at);
    const { properties, additionalProperties } = schema;
    if (!isObject(value) || !isObject(properties)) return value;
    const names = Object.keys(value);
    const known = names.filter((name) => Object.hasOwn(properties, name));
    const others = names.filter((name) => !Object.hasOwn(properties, name));
    const shown = additionalProperties === false ? others.slice(0, this.most) : others;
    return Object.fromEntries([
      ...known.map((name) => [name, this.#of(properties[name], value[name], `${at}/${name}`)]),
      ...shown.map((name) => [name, value[name]]),
    ]);
  }

  #array({ items, maxItems }: Json, entries: readonly unknown[], at: string): unknown {
    if (!isObject(items)) return entries;
    // Enough of them that the array is as much too short or too long as it was.
    const first = Math.max(this.most, typeof maxItems === 'number' ? maxItems + 1 : 0);
    const kept = entries.length <= first ? undefined : indicesOf(items, entries, first, this.most);
    if (kept === undefined) return entries.map((entry, index) => this.#of(items, entry, `${at}/${index}`));
    this.#kept.set(at, kept);
    return kept.map((index, place) => this.#of(items, entries[index], `${at}/${place}`));
  }
}

/** The first entries, and up to `most` with errors. */
function indicesOf(items: Json, entries: readonly unknown[], first: number, most: number): number[] {
  const validator = Compile(items as TSchema);
  const kept: number[] = [];
  let errors = 0;
  for (const [index, entry] of entries.entries()) {
    const isWrong = !validator.Check(entry);
    if (isWrong) errors++;
    if (index < first || isWrong) kept.push(index);
    if (errors >= most && index >= first) break;
  }
  return kept;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
