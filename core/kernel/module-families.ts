import { Families, type Collection, type FigureFamily } from '../contract/families.js';
import type { Belonging } from './module-life.js';

/** Sources of families of all modules in one thread. */
export class FamilySources {
  readonly sources = new Set<() => Collection>();
}

/** The families as one module sees them: its own end with it. */
export class ModuleFamilies extends Families implements Belonging {
  readonly #own: (() => Collection)[] = [];
  #hasBegun = false;

  constructor(private readonly all: FamilySources) {
    super();
  }

  begin(): void {
    this.#hasBegun = true;
    for (const source of this.#own) this.all.sources.add(source);
  }

  close(): void {
    for (const source of this.#own) this.all.sources.delete(source);
  }

  provide(collect: () => Collection): void {
    this.#own.push(collect);
    if (this.#hasBegun) this.all.sources.add(collect);
  }

  collect(): Required<Collection> {
    const collections = Array.from(this.all.sources, (collect) => collect());
    return {
      families: familiesOf(collections),
      done: () => {
        for (const { done } of collections) done?.();
      },
    };
  }
}

function* familiesOf(collections: readonly Collection[]): Generator<FigureFamily> {
  for (const { families } of collections) yield* families;
}
