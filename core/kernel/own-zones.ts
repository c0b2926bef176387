import type { ZoneSize } from '../contract/args.js';
import { Zones, type Copies, type Holds, type RecordOptions, type Records } from '../contract/zones.js';
import type { FigureTable } from '../contract/figures.js';
import type { Belonging } from './module-life.js';
import type { ModuleZones } from './module-zones.js';

/** A zone has tables of its own. */
const LEAST = 8192;

/** The zones as one module sees them in one thread: with memory of its own, which ends with it. */
export class OwnZones extends Zones implements Belonging {
  readonly #own = new Map<string, ZoneSize>();

  /** @param module its name */
  constructor(
    private readonly module: string,
    private readonly zones: ModuleZones,
  ) {
    super();
  }

  own(name: string, size: number): ZoneSize {
    if (!Number.isSafeInteger(size) || size < LEAST) throw new RangeError(`memory of a module has ${LEAST} bytes at least, not ${size}`);
    const known = this.#own.get(name);
    if (known !== undefined) throw new RangeError(`module "${this.module}" has memory "${name}" already`);
    // No directive can name it.
    const zone = { name: `${this.module}\0${name}`, size };
    this.#own.set(name, zone);
    this.zones.openOwn(zone);
    return zone;
  }

  close(): void {
    for (const zone of this.#own.values()) this.zones.closeOwn(zone);
    this.#own.clear();
  }

  records<F extends string, S extends string = never>(zone: ZoneSize, options: RecordOptions<F, S>): Records<F, S> {
    return this.zones.records(zone, options);
  }

  holds(zone: ZoneSize, expected?: number): Holds {
    return this.zones.holds(zone, expected);
  }

  figures(zone: ZoneSize): FigureTable {
    return this.zones.figures(zone);
  }

  copies(zone: ZoneSize, bytes: number): Copies {
    return this.zones.copies(zone, bytes);
  }
}
