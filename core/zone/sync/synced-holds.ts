import type { ZoneHolds } from '../holds.js';
import type { Zone } from '../zone.js';
import type { BatchWriter, Section, Shape } from './batch.js';
import type { PendingChanges } from './pending-changes.js';
import type { SyncedTable } from './synced-table.js';

/** Keys taken while the zone's lock is held once. */
const AT_ONCE = 64;
/** More of one key are not believed. */
const MOST_HELD = 1_000_000;

/** Holds of one table: each node sends how many it holds under a key, and adds those of the others. Only the main thread uses it. */
export class SyncedHolds implements SyncedTable {
  readonly id: string;
  readonly kind = 'sum';
  readonly ttl = 0;
  readonly shape: Shape;
  /** Holds of other nodes, by node and key. */
  readonly #others = new Map<string, Map<string, number>>();
  readonly mostKeys: number;

  constructor(
    private readonly zone: Zone,
    private readonly pending: PendingChanges,
    private readonly holds: ZoneHolds,
  ) {
    // Nodes may have different numbers of workers.
    this.id = `${zone.name} holds`;
    this.shape = { id: this.id, numbers: 1, valueLength: 0 };
    this.mostKeys = Math.ceil(zone.size / 32);
  }

  get waiting(): number {
    return this.pending.count;
  }

  take(most: number, batch: BatchWriter): number {
    let taken = 0;
    if (this.waiting === 0 || !batch.hasRoom(this.shape) || !batch.begin(this.shape)) return 0;
    while (taken < most) {
      const some = this.#takeSome(Math.min(AT_ONCE, most - taken), batch);
      taken += some;
      if (some < AT_ONCE) break;
    }
    return taken;
  }

  apply(section: Section, _offset: number, node: string): void {
    if (section.shape.numbers !== 1 || section.shape.valueLength !== 0) throw new RangeError('holds of another shape');
    const held = this.#others.get(node) ?? new Map<string, number>();
    this.#others.set(node, held);
    while (section.next()) {
      const amount = Math.trunc(Math.min(MOST_HELD, Math.max(0, section.amounts[0]!)));
      const key = section.key.toString('latin1');
      const before = held.get(key) ?? 0;
      if (amount === before || (before === 0 && held.size >= this.mostKeys)) continue;
      if (!this.holds.changeOthers(section.key, amount - before)) continue;
      if (amount === 0) held.delete(key);
      else held.set(key, amount);
    }
  }

  resend(): void {
    this.holds.markAll();
  }

  forget(): void {
    this.zone.enter();
    this.holds.check();
    this.pending.clear();
    this.zone.leave();
  }

  release(node: string): void {
    for (const [key, amount] of this.#others.get(node) ?? []) this.holds.changeOthers(Buffer.from(key, 'latin1'), -amount);
    this.#others.delete(node);
  }

  #takeSome(most: number, batch: BatchWriter): number {
    let taken = 0;
    this.zone.enter();
    this.holds.check();
    for (; taken < most && batch.hasRoom(this.shape); taken++) {
      const key = this.pending.take(NONE);
      if (key === undefined) break;
      batch.add(key, [this.holds.held(key)]);
    }
    this.zone.leave();
    return taken;
  }
}

const NONE = new Float64Array(0);
