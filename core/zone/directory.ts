import { Word } from './zone-layout.js';
import type { Zone } from './zone.js';
import { wordOf } from './offsets.js';

/** An entry: the next one, the offset of the thing, the length of its name, the name. */
const NEXT = 0;
const TARGET = 1;
const LENGTH = 2;
const NAME = 3;

/** Names of what lives in a zone, so that another thread finds it. A handful of entries, looked at when something is attached. */
export class Directory {
  constructor(private readonly zone: Zone) {}

  /** How many things live in the zone. */
  get size(): number {
    let count = 0;
    for (let entry = this.zone.u32[Word.directory]!; entry !== 0; entry = this.zone.u32[wordOf(entry) + NEXT]!) count++;
    return count;
  }

  /** Content of the zone. Called with the lock held. */
  get names(): string[] {
    const { u32, bytes } = this.zone;
    const names: string[] = [];
    for (let entry = u32[Word.directory]!; entry !== 0; entry = u32[wordOf(entry) + NEXT]!) {
      const start = entry + NAME * 4;
      names.push(Buffer.from(bytes.slice(start, start + u32[wordOf(entry) + LENGTH]!)).toString());
    }
    return names;
  }

  /** The offset kept under `name`, or 0. */
  find(name: string): number {
    const entry = this.#entry(name);
    return entry === 0 ? 0 : this.zone.u32[wordOf(entry) + TARGET]!;
  }

  /** Keeps `offset` under a name that is not in use. False when the zone is full. Called with the lock held. */
  add(name: string, offset: number): boolean {
    const text = Buffer.from(name);
    const entry = this.zone.slab.alloc(NAME * 4 + text.length);
    if (entry === 0) return false;
    const { u32, bytes } = this.zone;
    const words = wordOf(entry);
    u32[words + TARGET] = offset;
    u32[words + LENGTH] = text.length;
    bytes.set(text, entry + NAME * 4);
    u32[words + NEXT] = u32[Word.directory]!;
    u32[Word.directory] = entry;
    return true;
  }

  /** Forgets a name. Called with the lock held. */
  remove(name: string): void {
    const entry = this.#entry(name);
    if (entry === 0) return;
    const { u32 } = this.zone;
    const next = u32[wordOf(entry) + NEXT]!;
    if (u32[Word.directory] === entry) u32[Word.directory] = next;
    else {
      let before = u32[Word.directory]!;
      while (u32[wordOf(before) + NEXT] !== entry) before = u32[wordOf(before) + NEXT]!;
      u32[wordOf(before) + NEXT] = next;
    }
    this.zone.slab.release(entry);
  }

  #entry(name: string): number {
    const { u32, buffer, start } = this.zone;
    const text = Buffer.from(name);
    for (let entry = u32[Word.directory]!; entry !== 0; entry = u32[wordOf(entry) + NEXT]!) {
      if (u32[wordOf(entry) + LENGTH] === text.length && text.equals(Buffer.from(buffer, start + entry + NAME * 4, text.length)))
        return entry;
    }
    return 0;
  }
}
