import type { Zone } from '../zone/zone.js';
import { CHUNK_BYTES, CHUNK_CODES, CHUNK_COUNTS, CODES_IN_CHUNK, F, Flag, W } from './layout.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** How much a new value moves an average. */
const SHARE = 1 / 8;

/** The figures of a member over all workers, at one moment. */
export interface MemberFigures {
  active: number;
  requests: number;
  responses: number[];
  codes: Record<string, number>;
  sent: number;
  received: number;
  failed: number;
  unavail: number;
  downtime: number;
  downstart: number;
  selected: number;
  connectTime: number;
  headerTime: number;
  responseTime: number;
}

/** Keeps the figures of members in their records. Called with the zone's lock held. */
export class Tally {
  /** Records that this thread has found unavailable or available again, for the upstream to collect. Undefined: they are not needed. */
  turned: number[] | undefined = undefined;

  constructor(private readonly zone: Zone) {}

  /** A response's head has arrived. @param headerMs from the start of the request to it */
  answered(record: number, status: number, headerMs: number): void {
    const { f64 } = this.zone;
    const numbers = numberOf(record);
    const kind = Math.floor(status / 100);
    if (kind >= 1 && kind <= 5) f64[numbers + F.responses + kind - 1]!++;
    this.#average(numbers + F.headerTime, headerMs);
    this.addCode(record, status, 1);
  }

  /** A session has come so far. @param average which of the times it is */
  timed(record: number, average: F, ms: number): void {
    this.#average(numberOf(record) + average, ms);
  }

  /** The exchange is over. */
  finished(record: number, sent: number, received: number, responseMs: number): void {
    const { f64 } = this.zone;
    const numbers = numberOf(record);
    f64[numbers + F.sent]! += sent;
    f64[numbers + F.received]! += received;
    if (responseMs >= 0) this.#average(numbers + F.responseTime, responseMs);
  }

  /** It failed too often: counts it and starts the time of being unavailable. False if it was unavailable before. */
  unavailable(record: number, now: number): boolean {
    const downstart = numberOf(record) + F.downstart;
    if (this.zone.f64[downstart] !== 0) return false;
    this.zone.f64[downstart] = now;
    this.zone.u32[wordOf(record) + W.unavail]!++;
    this.turned?.push(record);
    return true;
  }

  /** It works again, or is trusted again. */
  available(record: number, now: number): void {
    const { u32, f64 } = this.zone;
    u32[wordOf(record) + W.fails] = 0;
    // For its requests it is not available as long as a health check says so.
    if ((u32[wordOf(record) + W.flags]! & (Flag.UNHEALTHY | Flag.CHECKING)) !== 0) return;
    const numbers = numberOf(record);
    const since = f64[numbers + F.downstart]!;
    if (since === 0) return;
    f64[numbers + F.downstart] = 0;
    f64[numbers + F.downtime]! += Math.max(now - since, 0);
    this.turned?.push(record);
  }

  read(record: number, now: number): MemberFigures {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    const numbers = numberOf(record);
    const downstart = f64[numbers + F.downstart]!;
    return {
      active: u32[words + W.active]!,
      requests: f64[numbers + F.requests]!,
      responses: [0, ...f64.slice(numbers + F.responses, numbers + F.responses + 5)],
      codes: this.codes(record),
      sent: f64[numbers + F.sent]!,
      received: f64[numbers + F.received]!,
      failed: u32[words + W.failed]!,
      unavail: u32[words + W.unavail]!,
      downtime: f64[numbers + F.downtime]! + (downstart === 0 ? 0 : Math.max(now - downstart, 0)),
      downstart,
      selected: f64[numbers + F.selected]!,
      connectTime: f64[numbers + F.connectTime]!,
      headerTime: f64[numbers + F.headerTime]!,
      responseTime: f64[numbers + F.responseTime]!,
    };
  }

  /** Sets the statistics to zero. The state for choosing members stays. */
  reset(record: number, now: number): void {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    const numbers = numberOf(record);
    f64.fill(0, numbers + F.responses, numbers + F.downstart);
    f64.fill(0, numbers + F.connectTime, numbers + F.requests + 1);
    if (f64[numbers + F.downstart] !== 0) f64[numbers + F.downstart] = now;
    u32[words + W.failed] = 0;
    u32[words + W.unavail] = 0;
    this.release(record);
  }

  /** Gives the memory of the counts by status code back. */
  release(record: number): void {
    const { u32, slab } = this.zone;
    const codes = wordOf(record) + W.codes;
    while (u32[codes] !== 0) {
      const chunk = u32[codes]!;
      u32[codes] = u32[wordOf(chunk)]!;
      slab.release(chunk);
    }
  }

  #average(index: number, value: number): void {
    const { f64 } = this.zone;
    const before = f64[index]!;
    f64[index] = before === 0 ? value : before + (value - before) * SHARE;
  }

  /**
   * Counts responses with a status code. Only the last chunk has free places, so that a code is never in two of them. In a zone that is full, codes that were not seen before
   * are not counted one by one.
   */
  addCode(record: number, status: number, amount: number): void {
    const { u16, u32, f64 } = this.zone;
    let link = wordOf(record) + W.codes;
    for (let chunk = u32[link]!; chunk !== 0; chunk = u32[link]!) {
      for (let at = 0; at < CODES_IN_CHUNK; at++) {
        const code = u16[(chunk >>> 1) + CHUNK_CODES + at]!;
        if (code === 0) u16[(chunk >>> 1) + CHUNK_CODES + at] = status;
        else if (code !== status) continue;
        f64[numberOf(chunk) + CHUNK_COUNTS + at]! += amount;
        return;
      }
      link = wordOf(chunk);
    }
    const chunk = this.zone.slab.calloc(CHUNK_BYTES);
    if (chunk === 0) return;
    const zone = this.zone;
    zone.u16[(chunk >>> 1) + CHUNK_CODES] = status;
    zone.f64[numberOf(chunk) + CHUNK_COUNTS] = amount;
    zone.u32[link] = chunk;
  }

  /** Responses by status code. */
  codes(record: number): Record<string, number> {
    const { u16, u32, f64 } = this.zone;
    const counts: Record<string, number> = {};
    for (let chunk = u32[wordOf(record) + W.codes]!; chunk !== 0; chunk = u32[wordOf(chunk)]!) {
      for (let at = 0; at < CODES_IN_CHUNK; at++) {
        const code = u16[(chunk >>> 1) + CHUNK_CODES + at]!;
        if (code !== 0) counts[code] = f64[numberOf(chunk) + CHUNK_COUNTS + at]!;
      }
    }
    return counts;
  }
}
