import { ConfReader, ownDirective } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import { LayeredMap } from '../config/layered-map.js';
import { ConfigTree, type Tree } from '../config/tree.js';
import type { AnyArgContext } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { upstreamBlockDirectives } from '../toolkit/upstream.js';
import { MAX_SIZE } from '../zone/zone-layout.js';
import { upstreamsOf } from './touched.js';
import type { UpstreamEngine } from './upstream-engine.js';

/** nginx wants eight pages. */
const MIN_SIZE = 8 * 4096;

/** The zone an upstream is to have. */
export interface ZoneChoice {
  readonly name: string;
  readonly size: number;
}

/** A zone as a `zone` line has it. */
interface ZoneLine {
  readonly name: string;
  readonly size: number | undefined;
}

/** Values of the blocks with one zone. */
interface ZoneUse {
  /** How many there are. */
  readonly users: number;
  /** How many say each size: of one size, unless the configuration is wrong. */
  readonly sizes: readonly (readonly [size: number, count: number])[];
}

const UNUSED: ZoneUse = { users: 0, sizes: [] };
const READER = new ConfReader(upstreamBlockDirectives);

/**
 * The zones that the `upstream` blocks of a tree declare. Several upstreams may share one; one of them says how large it is. Never changes: the
 * plan after a change costs what the change is.
 */
export class ZonePlan {
  private constructor(
    /** By the id of the block. */
    private readonly lines: LayeredMap<number, ZoneLine>,
    private readonly uses: LayeredMap<string, ZoneUse>,
    private readonly tree: Tree,
    private readonly engine: UpstreamEngine,
  ) {}

  /** That of a tree without upstreams. */
  static empty(engine: UpstreamEngine): ZonePlan {
    return new ZonePlan(LayeredMap.of([]), LayeredMap.of([]), ConfigTree.empty, engine);
  }

  /** The plan for a tree that differs in these blocks. @param touched ids of all that came, went or may say something else */
  after(touched: Iterable<number>, tree: Tree, args: AnyArgContext): ZonePlan {
    const lines = new Map<number, ZoneLine | undefined>();
    const uses = new Map<string, ZoneUse | undefined>();
    const count = ({ name, size }: ZoneLine, by: 1 | -1): void => {
      const use = counted((uses.has(name) ? uses.get(name) : this.uses.get(name)) ?? UNUSED, size, by);
      uses.set(name, use.users > 0 ? use : undefined);
    };
    for (const id of touched) {
      const before = this.lines.get(id);
      const now = this.#lineOf(tree.byId(id), args);
      if (before !== undefined) count(before, -1);
      if (now !== undefined) count(now, 1);
      lines.set(id, now);
    }
    return new ZonePlan(this.lines.with(lines), this.uses.with(uses), tree, this.engine);
  }

  /** Ids of the blocks whose zone has another size than in the plan before, though they say the same. @param touched the blocks that do not */
  *moved(before: ZonePlan, touched: ReadonlySet<number>): Generator<number> {
    /** How many blocks have each zone that is another one now, besides the touched ones. */
    const others = new Map<string, number>();
    for (const id of touched) {
      for (const line of [before.lines.get(id), this.lines.get(id)]) {
        if (line !== undefined && this.#onlySize(line.name) !== before.#onlySize(line.name))
          others.set(line.name, this.uses.get(line.name)?.users ?? 0);
      }
    }
    for (const id of touched) {
      const { name = '' } = this.lines.get(id) ?? {};
      const count = others.get(name);
      if (count !== undefined) others.set(name, count - 1);
    }
    if ([...others.values()].every((count) => count === 0)) return;
    for (const [id, { name }] of this.lines) if ((others.get(name) ?? 0) > 0 && !touched.has(id)) yield id;
  }

  /** The zone of a block, undefined if it has none. @throws ConfigError in nginx's words */
  of({ id, block }: Directive): ZoneChoice | undefined {
    const zone = this.lines.get(id);
    if (zone === undefined) return undefined;
    const line = ownDirective(block!, 'zone')!;
    const { name } = zone;
    if (name === '') throw errorAt(line, `invalid zone name "${name}"`, line.args[0]);
    const size = this.#sizeOf(name);
    if (size === undefined)
      throw errorAt(
        line,
        `zero size shared memory zone "${name}"`,
        line.args[0],
        `specify a size in one of the upstreams: zone ${name} 256k;`,
      );
    if (zone.size !== undefined && zone.size !== size)
      throw errorAt(
        line,
        `the size ${zone.size} of shared memory zone "${name}" conflicts with already declared size ${size}`,
        line.args[1],
      );
    if (size < MIN_SIZE) throw errorAt(line, `zone "${name}" is too small`, line.args[1], `32k at least; 256k holds about 900 members`);
    if (size > MAX_SIZE) throw errorAt(line, `zone "${name}" is too large`, line.args[1], 'a zone is smaller than 2g');
    return { name, size };
  }

  #lineOf(upstream: Directive | undefined, args: AnyArgContext): ZoneLine | undefined {
    const block = upstream?.block;
    if (block === undefined || ownDirective(block, 'zone') === undefined) return undefined;
    return READER.read({ context: this.engine.context, block }, undefined, args).zone;
  }

  /** NaN, which is like nothing, where there is none, or several. */
  #onlySize(name: string): number {
    const sizes = this.uses.get(name)?.sizes ?? [];
    return sizes.length === 1 ? sizes[0]![0] : Number.NaN;
  }

  /** Value of the first block in the tree that has one. */
  #sizeOf(name: string): number | undefined {
    const sizes = this.uses.get(name)?.sizes ?? [];
    if (sizes.length < 2) return sizes[0]?.[0];
    for (const { id } of upstreamsOf(this.tree, this.engine.name)) {
      const line = this.lines.get(id);
      if (line?.name === name && line.size !== undefined) return line.size;
    }
    return undefined;
  }
}

function counted({ users, sizes }: ZoneUse, size: number | undefined, by: 1 | -1): ZoneUse {
  if (size === undefined) return { users: users + by, sizes };
  const count = (sizes.find(([known]) => known === size)?.[1] ?? 0) + by;
  const others = sizes.filter(([known]) => known !== size);
  return { users: users + by, sizes: count > 0 ? [...others, [size, count]] : others };
}
