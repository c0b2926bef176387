/** The order of the handlers of modules: by the numbers in `phases`, then by the order of loading, and above both by `after` and `before`. */
import { wordHint } from '../contract/suggest.js';
import { PHASES } from '../contract/http.js';
import type { ModuleDeclaration } from '../contract/manifest.js';
import { STREAM_PHASES } from '../contract/stream.js';
import { DEFAULT_ORDER } from '../run/handler-set.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';

/** Ordered parts of the modules of an engine: the phases, header filters, log handlers. */
export const HTTP_PARTS = [...PHASES, 'header', 'log'] as const;
export const STREAM_PARTS = [...STREAM_PHASES, 'log'] as const;
const HANDLER_PARTS = [...new Set([...HTTP_PARTS, ...STREAM_PARTS])];

type Ordered = Pick<ModuleDeclaration['manifest'], 'name' | 'phases' | 'after' | 'before'>;

/** The position of one module in each part. */
type Ranks = Record<(typeof HANDLER_PARTS)[number], number>;

/** For every name the modules that come before it. */
type Predecessors = ReadonlyMap<string, ReadonlySet<string>>;

/** The order of the modules of one server. */
export class ModuleOrder {
  readonly #predecessors: Predecessors;
  readonly #names: ReadonlySet<string>;
  #ranks: ReadonlyMap<string, Ranks> | undefined;

  /** @param manifests in load order */
  constructor(private readonly manifests: readonly Ordered[]) {
    this.#names = new Set(manifests.map(({ name }) => name));
    this.#predecessors = predecessorsOf(manifests);
  }

  /** @param known names of modules that may be loaded, beside the loaded ones */
  *errors(manifest: Ordered, known: (name: string) => boolean): ManifestErrors {
    const { name } = manifest;
    for (const key of ['after', 'before'] as const) {
      for (const other of namesIn(manifest[key])) {
        if (!this.#names.has(other) && !known(other))
          yield new ManifestError(`unknown module "${other}" in "${key}"`, wordHint(other, [...this.#names]));
      }
    }
    const cycle = namesIn(manifest.after).length + namesIn(manifest.before).length > 0 ? this.#cycleOf(name) : undefined;
    if (cycle !== undefined)
      yield new ManifestError(`modules cannot be ordered: ${cycle.join(' after ')}`, 'take back one "after" or "before"');
  }

  /** True if any module is ordered by name. */
  get hasNames(): boolean {
    return this.#predecessors.size > 0;
  }

  /** The positions of a module among all of them. Only without {@link errors}. */
  ranksOf(name: string): Readonly<Ranks> {
    this.#ranks ??= this.#allRanks();
    return this.#ranks.get(name) as Ranks;
  }

  /** Together: each part is sorted once, not once a module. */
  #allRanks(): ReadonlyMap<string, Ranks> {
    const ranks = new Map(this.manifests.map(({ name }) => [name, {} as Ranks]));
    for (const part of HANDLER_PARTS) for (const [rank, name] of this.#sorted(part).entries()) (ranks.get(name) as Ranks)[part] = rank;
    return ranks;
  }

  #sorted(part: (typeof HANDLER_PARTS)[number]): readonly string[] {
    const rest = this.manifests
      .toSorted((a, b) => (a.phases?.[part] ?? DEFAULT_ORDER) - (b.phases?.[part] ?? DEFAULT_ORDER))
      .map(({ name }) => name);
    const sorted: string[] = [];
    while (rest.length > 0) {
      const next = rest.findIndex((name) => !rest.some((other) => this.#predecessors.get(name)?.has(other)));
      sorted.push(...rest.splice(Math.max(next, 0), 1));
    }
    return sorted;
  }

  /** The names on a way from a module back to itself. */
  #cycleOf(start: string): readonly string[] | undefined {
    const seen = new Set<string>();
    const follow = (name: string, way: readonly string[]): readonly string[] | undefined => {
      for (const before of this.#predecessors.get(name) ?? []) {
        if (before === start) return [...way, before];
        if (seen.has(before)) continue;
        seen.add(before);
        const found = follow(before, [...way, before]);
        if (found !== undefined) return found;
      }
      return undefined;
    };
    return follow(start, [start]);
  }
}

function predecessorsOf(manifests: readonly Ordered[]): Predecessors {
  const predecessors = new Map<string, Set<string>>();
  const add = (name: string, before: string): void => {
    predecessors.set(name, (predecessors.get(name) ?? new Set()).add(before));
  };
  for (const { name, after, before } of manifests) {
    for (const other of namesIn(after)) add(name, other);
    for (const other of namesIn(before)) add(other, name);
  }
  return predecessors;
}

function namesIn(names: string | readonly string[] = []): readonly string[] {
  return typeof names === 'string' ? [names] : names;
}
