import type { RecordOptions } from '../../contract/zones.js';
import type { ZoneSync } from '../../contract/spec.js';
import type { Zone } from '../zone.js';
import { PendingChanges } from './pending-changes.js';

/** A record whose life is prolonged by this part of it is sent again. */
const RENEWED = 4;

/** Notes which records of a table have changed, for the other nodes. All but `open` with the zone's lock held. */
export class RecordChanges {
  /** For each field its place among the amounts; below 0: it is not counted. */
  readonly #places: readonly number[];

  private constructor(
    readonly kind: Exclude<ZoneSync, 'sum'>,
    /** The same on all nodes that share the table. */
    readonly id: string,
    readonly pending: PendingChanges,
    readonly counted: readonly number[],
    readonly ttl: number,
  ) {
    this.#places = counted.reduce<number[]>((places, field, place) => ((places[field] = place), places), []);
  }

  /** Undefined: the zone is too small. @throws RangeError for records that cannot be shared so */
  static open<F extends string, S extends string>(
    zone: Zone,
    name: string,
    kind: RecordChanges['kind'],
    { fields, ttl = 0, sync }: RecordOptions<F, S>,
  ): RecordChanges | undefined {
    if (kind === 'last' && ttl === 0) throw new RangeError(`records of zone "${zone.name}" are shared between nodes: they need a "ttl"`);
    const unknown = sync?.counts?.find((field) => !fields.includes(field));
    if (unknown !== undefined) throw new RangeError(`no field "${unknown}"`);
    const counted = kind === 'last' ? [] : (sync?.counts ?? fields).map((field) => fields.indexOf(field));
    const pending = PendingChanges.open(zone, name, counted.length);
    return pending && new RecordChanges(kind, `${zone.name} ${name} ${kind} ${counted.join()}`, pending, counted, ttl);
  }

  /** A number has grown: of a count that is sent. @param makeRoom see {@link PendingChanges.mark} */
  grown(key: string, field: number, amount: number, makeRoom: () => boolean): void {
    const place = this.#places[field];
    if (place === undefined || amount === 0 || !Number.isFinite(amount)) return;
    this.pending.add(key, place, amount, makeRoom);
  }

  mark(key: string | Uint8Array, makeRoom: () => boolean): void {
    this.pending.mark(key, makeRoom);
  }

  /** A record lives so much longer that the other nodes must know it. */
  isRenewed(before: number, expires: number): boolean {
    const part = this.ttl / RENEWED;
    return Math.floor(before / part) !== Math.floor(expires / part);
  }
}
