/** Members that respond slowly, and since when. */
import type { FigureTotals } from '../../core/contract/figures.js';
import type { NamedRow } from './collector.js';
import { AttemptFigure } from './layout.js';

/** Slow is more than this factor, and so many milliseconds more than the others of the upstream, or than this member usually needs. */
const FACTOR = 3;
const MORE_THAN_OTHERS = 50;
const MORE_THAN_USUAL = 100;
/** Responses in one look that say something. */
const RESPONSES = 3;
/** Looks after which the usual time is known, and what one more weighs in it. */
const KNOWN_LOOKS = 6;
const WEIGHT = 0.1;
/** Members of the list at most. */
const LISTED = 50;

/** Times are the mean until the first byte of the response, in milliseconds. */
export interface SlowMember {
  readonly engine: 'http' | 'stream';
  readonly upstream: string;
  readonly server: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Of the last look that had responses. */
  readonly time: number;
  readonly reference: number;
  /** Origin of the reference: the member in the middle of the upstream, or this member before. */
  readonly than: 'others' | 'usual';
}

type Slowness = Pick<SlowMember, 'since' | 'time' | 'reference' | 'than'>;

interface Seen {
  readonly row: NamedRow;
  heads: number;
  headTime: number;
  usual: number;
  /** Looks that `usual` is of. */
  looks: number;
  slowness: Slowness | undefined;
}

interface Measured {
  readonly seen: Seen;
  readonly time: number;
}

/** Looks at members again and again, in the main thread. */
export class SlowMembers {
  readonly #seen = new WeakMap<FigureTotals, Seen>();
  readonly #slow = new Set<Seen>();
  /** Members that had responses in this look, by their upstream. */
  readonly #measured = new Map<string, Measured[]>();

  /** To be called for each row, and {@link judge} after them. */
  look(row: NamedRow): void {
    const { kind, name, totals } = row;
    if (kind !== 'member' && kind !== 'stream_member') return;
    const [heads = 0, headTime = 0] = totals.counters(AttemptFigure.Heads, 2);
    const seen = this.#seen.get(totals);
    if (seen === undefined) {
      this.#seen.set(totals, { row, heads, headTime, usual: 0, looks: 0, slowness: undefined });
      return;
    }
    const responses = heads - seen.heads;
    const time = (headTime - seen.headTime) / responses;
    seen.heads = heads;
    seen.headTime = headTime;
    if (responses < RESPONSES) return;
    const key = `${kind} ${name}`;
    const members = this.#measured.get(key) ?? [];
    members.push({ seen, time });
    this.#measured.set(key, members);
  }

  /** @param since when all rows were looked at before, epoch milliseconds */
  judge(since: number): void {
    for (const members of this.#measured.values()) {
      const middle = members.map(({ time }) => time).sort((one, other) => one - other)[Math.floor((members.length - 1) / 2)]!;
      for (const member of members) this.#compare(member, members.length > 1 ? middle : undefined, since);
    }
    this.#measured.clear();
  }

  /** The slowest first. */
  list(): readonly SlowMember[] {
    for (const seen of this.#slow) if (seen.row.totals.hasEnded) this.#slow.delete(seen);
    return [...this.#slow]
      .flatMap(({ row: { kind, name, part }, slowness }): SlowMember[] =>
        slowness === undefined ? [] : [{ engine: kind === 'stream_member' ? 'stream' : 'http', upstream: name, server: part, ...slowness }],
      )
      .sort((one, other) => other.time - one.time)
      .slice(0, LISTED);
  }

  /** Forgets a row that was set to zero. */
  clear(totals: FigureTotals): void {
    const seen = this.#seen.get(totals);
    if (seen !== undefined) this.#slow.delete(seen);
    this.#seen.delete(totals);
  }

  #compare({ seen, time }: Measured, middle: number | undefined, since: number): void {
    const found = this.#slower(seen, time, middle);
    if (found === undefined) {
      seen.usual = seen.looks === 0 ? time : seen.usual + (time - seen.usual) * WEIGHT;
      seen.looks++;
      seen.slowness = undefined;
      this.#slow.delete(seen);
      return;
    }
    seen.slowness = { since: seen.slowness?.since ?? since, time, ...found };
    this.#slow.add(seen);
  }

  #slower({ usual, looks }: Seen, time: number, middle: number | undefined): Pick<Slowness, 'reference' | 'than'> | undefined {
    if (middle !== undefined && time > middle * FACTOR && time > middle + MORE_THAN_OTHERS) return { reference: middle, than: 'others' };
    const isKnown = looks >= KNOWN_LOOKS;
    if (isKnown && time > usual * FACTOR && time > usual + MORE_THAN_USUAL) return { reference: usual, than: 'usual' };
    return undefined;
  }
}
