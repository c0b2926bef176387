import type { RecordFields, RecordOptions } from '../../contract/zones.js';
import type { ZoneRecords } from '../records.js';
import type { Zone } from '../zone.js';
import type { BatchWriter, Section, Shape } from './batch.js';
import type { RecordChanges } from './record-changes.js';
import type { SyncedTable } from './synced-table.js';

/** Changes taken while the zone's lock is held once: requests wait meanwhile. */
const AT_ONCE = 64;

/** A change cannot be later than now by more: clocks are measured. Milliseconds. */
const LATEST = 1000;

/** The records of one table, sent to other nodes and received from them. Only the main thread uses it. */
export class SyncedRecords<F extends string, S extends string> implements SyncedTable {
  readonly id: string;
  readonly kind: RecordChanges['kind'];
  readonly ttl: number;
  readonly shape: Shape;
  readonly mostKeys: number;
  readonly #amounts: Float64Array;
  readonly #gone: Uint8Array;
  readonly #received: RecordFields<F, S>;
  readonly #sync: RecordOptions<F, S>['sync'];

  constructor(
    private readonly zone: Zone,
    private readonly changes: RecordChanges,
    private readonly records: ZoneRecords<F, S>,
    private readonly options: RecordOptions<F, S>,
  ) {
    const { id, kind, ttl, counted } = changes;
    this.id = id;
    this.kind = kind;
    this.ttl = ttl;
    this.mostKeys = Math.ceil(zone.size / 32);
    this.#sync = options.sync;
    const isCount = kind === 'count';
    this.shape = { id, numbers: isCount ? counted.length : 2, valueLength: isCount ? 0 : records.valueLength };
    this.#amounts = new Float64Array(this.shape.numbers);
    this.#gone = new Uint8Array(this.shape.valueLength);
    const strings = Object.keys(options.strings ?? {}).map((name) => [name, '']);
    this.#received = Object.fromEntries([...options.fields.map((name) => [name, 0]), ...strings]) as RecordFields<F, S>;
  }

  get waiting(): number {
    return this.changes.pending.count;
  }

  take(most: number, batch: BatchWriter, offset: number): number {
    let taken = 0;
    if (this.waiting === 0 || !batch.hasRoom(this.shape) || !batch.begin(this.shape)) return 0;
    while (taken < most) {
      const some = this.#takeSome(Math.min(AT_ONCE, most - taken), batch, offset);
      taken += some;
      if (some < AT_ONCE) break;
    }
    return taken;
  }

  apply(section: Section, offset: number): void {
    const { numbers, valueLength } = section.shape;
    if (numbers !== this.shape.numbers || valueLength !== this.shape.valueLength) throw new RangeError('records of another shape');
    if (this.kind === 'count') while (section.next()) this.records.receive(section.key.toString(), 0, this.#grow, section.amounts);
    else while (section.next()) this.#receive(section, offset);
  }

  resend(since: number): void {
    if (this.kind === 'last') this.records.markSince(since);
  }

  forget(): void {
    this.zone.enter();
    this.changes.pending.check();
    this.changes.pending.clear();
    this.zone.leave();
  }

  release(): void {}

  #takeSome(most: number, batch: BatchWriter, offset: number): number {
    const { zone, changes } = this;
    let taken = 0;
    zone.enter();
    changes.pending.check();
    for (; taken < most && batch.hasRoom(this.shape); taken++) {
      const key = changes.pending.take(this.#amounts);
      if (key === undefined) break;
      if (this.kind === 'count') batch.add(key, this.#amounts);
      else this.#addRecord(key, batch, offset);
    }
    zone.leave();
    return taken;
  }

  #addRecord(key: Buffer, batch: BatchWriter, offset: number): void {
    const { changed = Date.now(), expires = 0, values = this.#gone } = this.records.raw(key) ?? {};
    this.#amounts[0] = changed + offset;
    this.#amounts[1] = expires === 0 ? 0 : expires + offset;
    batch.add(key, this.#amounts, values);
  }

  #receive({ key, amounts, value }: Section, offset: number): void {
    const [at = 0, end = 0] = amounts;
    const changed = Math.min(at - offset, Date.now() + LATEST);
    const expires = end === 0 ? 0 : end - offset;
    const merge = this.#sync?.merge;
    if (merge === undefined || expires === 0) return this.records.replace(key, changed, expires, value);
    const received = this.records.named(value);
    const change = (fields: RecordFields<F, S>): boolean => {
      merge(fields, received);
      return true;
    };
    this.records.receive(key.toString(), changed, change, undefined);
  }

  readonly #grow = (fields: RecordFields<F, S>, amounts: Float64Array): boolean => {
    const { counted } = this.changes;
    const received: Record<string, number | string> = this.#received;
    const merge = this.#sync?.merge;
    const grown: Record<string, number | string> = merge === undefined ? fields : received;
    for (let at = 0; at < counted.length; at++) {
      const name = this.options.fields[counted[at]!]!;
      grown[name] = merge === undefined ? Number(fields[name]) + amounts[at]! : amounts[at]!;
    }
    merge?.(fields, this.#received);
    return true;
  };
}
