import type { ConfReader } from '../config/conf.js';
import { ownDirective } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import type { Tree } from '../config/tree.js';
import type { AnyArgContext } from '../module/spec.js';
import type { Directive } from '../module/tree.js';
import type { upstreamBlockDirectives } from '../module/upstream.js';
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

/** What `zone` lines say, which never changes: among 10,000 upstreams only those of a change are read. */
export type ZoneLines = WeakMap<Directive, ZoneLine>;

/** The zones that the `upstream` blocks of a tree declare. Several upstreams may share one; one of them says how large it is. */
export class ZonePlan {
  readonly #sizes = new Map<string, number>();

  constructor(
    tree: Tree,
    private readonly reader: ConfReader<typeof upstreamBlockDirectives>,
    private readonly args: AnyArgContext,
    private readonly lines: ZoneLines,
    private readonly engine: UpstreamEngine,
  ) {
    for (const directive of upstreamsOf(tree, engine.name)) {
      const zone = this.#read(directive);
      if (zone?.size !== undefined && !this.#sizes.has(zone.name)) this.#sizes.set(zone.name, zone.size);
    }
  }

  /** The zone of a block, undefined if it has none. @throws ConfigError in nginx's words */
  of(block: Directive): ZoneChoice | undefined {
    const zone = this.#read(block);
    if (zone === undefined) return undefined;
    const line = ownDirective(block.block!, 'zone')!;
    const { name } = zone;
    if (name === '') throw errorAt(line, `invalid zone name "${name}"`, line.args[0]);
    const size = this.#sizes.get(name);
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

  #read({ block }: Directive): ZoneLine | undefined {
    const line = block && ownDirective(block, 'zone');
    if (line === undefined) return undefined;
    const known = this.lines.get(line);
    if (known !== undefined) return known;
    const { zone } = this.reader.read({ context: this.engine.context, block }, undefined, this.args);
    if (zone !== undefined) this.lines.set(line, zone);
    return zone;
  }
}
