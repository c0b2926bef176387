import type { Zone } from '../zone/zone.js';
import { Flag, UpstreamW, W } from './layout.js';
import { wordOf } from '../zone/offsets.js';

const MIN_BUCKETS = 16;

/** Finds the records of an upstream's members by their identity: a hash table in the zone that grows with the upstream. */
export class MemberTable {
  readonly #words: number;

  /** @param head offset of the upstream's head */
  constructor(
    private readonly zone: Zone,
    head: number,
  ) {
    this.#words = wordOf(head);
  }

  /** The buckets of an empty table, 0: the zone is full. */
  static create(zone: Zone, head: number): number {
    const buckets = zone.slab.calloc(MIN_BUCKETS * 4);
    zone.u32[wordOf(head) + UpstreamW.buckets] = buckets;
    zone.u32[wordOf(head) + UpstreamW.mask] = MIN_BUCKETS - 1;
    return buckets;
  }

  /** The record of a member, 0 if there is none. @param pending the one of a change that is being prepared, not the current one */
  find(key: number, addressIndex: number, pending: boolean): number {
    const { u32 } = this.zone;
    for (let record = u32[this.#bucketOf(key, addressIndex)]!; record !== 0; record = u32[wordOf(record) + W.bucketNext]!) {
      const words = wordOf(record);
      if (u32[words + W.memberKey] !== key || u32[words + W.addressIndex] !== addressIndex) continue;
      if (((u32[words + W.flags]! & Flag.PENDING) !== 0) === pending) return record;
    }
    return 0;
  }

  insert(record: number): void {
    this.#extend();
    this.zone.u32[this.#words + UpstreamW.records]!++;
    this.#put(record);
  }

  remove(record: number): void {
    const { u32 } = this.zone;
    let link = this.#bucket(record);
    while (u32[link] !== record) link = wordOf(u32[link]!) + W.bucketNext;
    u32[link] = u32[wordOf(record) + W.bucketNext]!;
    u32[this.#words + UpstreamW.records]!--;
  }

  /** All records, in no order. */
  *records(): Generator<number> {
    const { u32 } = this.zone;
    const first = wordOf(u32[this.#words + UpstreamW.buckets]!);
    const last = first + u32[this.#words + UpstreamW.mask]!;
    for (let bucket = first; bucket <= last; bucket++)
      for (let record = u32[bucket]!; record !== 0; record = u32[wordOf(record) + W.bucketNext]!) yield record;
  }

  release(): void {
    this.zone.slab.release(this.zone.u32[this.#words + UpstreamW.buckets]!);
  }

  /** Doubles the table when there are more members than buckets. Without memory for that it stays as it is, and is slower. */
  #extend(): void {
    const { zone } = this;
    const buckets = zone.u32[this.#words + UpstreamW.mask]! + 1;
    if (zone.u32[this.#words + UpstreamW.records]! < buckets) return;
    const larger = zone.slab.calloc(buckets * 8);
    if (larger === 0) return;
    const records = Array.from(this.records());
    this.release();
    zone.u32[this.#words + UpstreamW.buckets] = larger;
    zone.u32[this.#words + UpstreamW.mask] = buckets * 2 - 1;
    for (const record of records) this.#put(record);
  }

  #put(record: number): void {
    const { u32 } = this.zone;
    const bucket = this.#bucket(record);
    u32[wordOf(record) + W.bucketNext] = u32[bucket]!;
    u32[bucket] = record;
  }

  #bucket(record: number): number {
    return this.#bucketOf(this.zone.u32[wordOf(record) + W.memberKey]!, this.zone.u32[wordOf(record) + W.addressIndex]!);
  }

  /** Index of the word that names the first record of the bucket. */
  #bucketOf(key: number, addressIndex: number): number {
    const { u32 } = this.zone;
    const hash = Math.imul(key, 0x9e3779b1) ^ Math.imul(addressIndex + 1, 0x85ebca6b);
    return wordOf(u32[this.#words + UpstreamW.buckets]!) + ((hash ^ (hash >>> 16)) & u32[this.#words + UpstreamW.mask]!);
  }
}
