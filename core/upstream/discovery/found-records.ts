import { wordOf } from '../../zone/offsets.js';
import { Flag, W } from '../layout.js';
import type { UpstreamMemory } from '../upstream-memory.js';
import { foundOf, type NumberedAddress } from './found-address.js';

const NONE: readonly NumberedAddress[] = [];

/** The addresses that the master has found for the names of an upstream, in its zone. Searched once, when they are first asked for. */
export class FoundRecords {
  #byKey: ReadonlyMap<number, readonly NumberedAddress[]> | undefined;

  /** @param pending records of a change that is being prepared, not the current ones */
  constructor(
    private readonly memory: UpstreamMemory,
    private readonly pending: boolean,
  ) {}

  /** @param key of the `server` line */
  of(key: number): readonly NumberedAddress[] {
    this.#byKey ??= this.#search();
    return this.#byKey.get(key)?.toSorted((one, other) => one.index - other.index) ?? NONE;
  }

  #search(): Map<number, NumberedAddress[]> {
    const { memory } = this;
    const found = new Map<number, NumberedAddress[]>();
    memory.zone.enter();
    try {
      for (const record of memory.table.records()) {
        const { u32 } = memory.zone;
        const words = wordOf(record);
        const index = u32[words + W.addressIndex]!;
        if (index === 0 || ((u32[words + W.flags]! & Flag.PENDING) !== 0) !== this.pending) continue;
        const text = memory.addressOf(record);
        if (text === undefined) continue;
        const key = u32[words + W.memberKey]!;
        const known = found.get(key);
        if (known === undefined) found.set(key, [{ index, found: foundOf(text) }]);
        else known.push({ index, found: foundOf(text) });
      }
    } finally {
      memory.zone.leave();
    }
    return found;
  }
}

/** The address of one record, as {@link FoundRecords} has it. Undefined: there is none. */
export function foundRecord(memory: UpstreamMemory, key: number, index: number, pending: boolean): NumberedAddress | undefined {
  memory.zone.enter();
  try {
    const record = memory.table.find(key, index, pending);
    const text = record === 0 ? undefined : memory.addressOf(record);
    return text === undefined ? undefined : { index, found: foundOf(text) };
  } finally {
    memory.zone.leave();
  }
}
