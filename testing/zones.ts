/** Shared memory for unit tests: that of a server with one worker, without the server. */
import type { ZoneSize } from '../core/contract/args.js';
import { Zones, type Copies, type Holds, type RecordOptions, type Records } from '../core/contract/zones.js';
import type { FigureTable } from '../core/contract/figures.js';
import { SharedFigures } from '../core/zone/figures.js';
import { ZoneCopies } from '../core/zone/copies.js';
import { ZoneHolds } from '../core/zone/holds.js';
import { ZoneRecords } from '../core/zone/records.js';
import { Zone } from '../core/zone/zone.js';

/**
 * The zones that are asked for, each made when it is asked for first. Records expire as {@link now} says.
 *
 * ```ts
 * const zones = new FakeZones();
 * const handlers = new Visits(zones).compile(fakeScope(Visits, { visits: { key, zone: { name: 'visits', size: 65_536 } } }));
 * ```
 */
export class FakeZones extends Zones {
  /** Epoch milliseconds, which a test sets; at first the time it is. */
  now = Date.now();
  readonly #zones = new Map<string, Zone>();

  own(name: string, size: number): ZoneSize {
    return { name: `own ${name}`, size };
  }

  records<F extends string, S extends string = never>(zone: ZoneSize, options: RecordOptions<F, S>): Records<F, S> {
    return ZoneRecords.open(this.#zone(zone), options, this) ?? tooSmall(zone);
  }

  holds(zone: ZoneSize, expected?: number): Holds {
    return ZoneHolds.open(this.#zone(zone), 0, 1, false, expected) ?? tooSmall(zone);
  }

  figures(zone: ZoneSize): FigureTable {
    return SharedFigures.open(this.#zone(zone), 0, 1, this) ?? tooSmall(zone);
  }

  copies(zone: ZoneSize, bytes: number): Copies {
    const other = { name: `${zone.name}\0copies`, size: ZoneCopies.zoneSize(bytes) };
    return ZoneCopies.open(this.#zone(other), bytes) ?? tooSmall(zone);
  }

  #zone({ name, size }: ZoneSize): Zone {
    const zone = this.#zones.get(name) ?? Zone.create(name, size);
    this.#zones.set(name, zone);
    return zone;
  }
}

function tooSmall({ name }: ZoneSize): never {
  throw new RangeError(`zone "${name}" is too small`);
}
