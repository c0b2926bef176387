import { isIPv4 } from 'node:net';
import { binaryAddress } from '../contract/binary-address.js';
import type { Interval } from './geo-intervals.js';
import type { Advice } from './geo-networks.js';

/** A piece of a range: the lower halves of its first and last address. */
interface Piece {
  readonly first: number;
  readonly last: number;
  readonly value: string;
}

/**
 * The ranges of a `geo` block with `ranges`. They are kept in pieces by the upper half of the address, so that adding one costs little in
 * whatever order they come. No two pieces have an address in common.
 */
export class Ranges {
  readonly #pieces = new Map<number, Piece[]>();

  /**
   * Adds a range; one that is in another range replaces that part of it.
   * @returns why it cannot be added, undefined: it is
   */
  add(text: string, value: string, advise: Advice): string | undefined {
    const range = parseRange(text);
    if (range === undefined) return `invalid range "${text}"`;
    let old: string | undefined;
    for (const { half, first, last } of halvesOf(range)) {
      const pieces = this.#piecesOf(half);
      const at = lastNotAfter(pieces, first);
      const around = pieces[at];
      const next = pieces[at + 1];
      if (next !== undefined && last >= next.first) return overlap(text, half, next);
      if (around === undefined || first > around.last) pieces.splice(at + 1, 0, { first, last, value });
      else if (last > around.last) return overlap(text, half, around);
      else {
        if (around.first === first && around.last === last) old ??= around.value;
        pieces.splice(at, 1, ...split(around, { first, last, value }));
      }
    }
    if (old !== undefined) advise(`duplicate range "${text}", value: "${value}", old value: "${old}"`);
    return undefined;
  }

  /** @returns why that cannot be, undefined: it is deleted, or was not there */
  delete(text: string, advise: Advice): string | undefined {
    const range = parseRange(text);
    if (range === undefined) return `invalid range "${text}"`;
    let isMissing = false;
    for (const { half, first, last } of halvesOf(range)) {
      const pieces = this.#piecesOf(half);
      const at = lastNotAfter(pieces, first);
      if (pieces[at]?.first === first && pieces[at].last === last) pieces.splice(at, 1);
      else isMissing = true;
    }
    if (isMissing) advise(`no address range "${text}" to delete`);
    return undefined;
  }

  *intervals(): Generator<Interval> {
    for (const [half, pieces] of this.#pieces)
      for (const { first, last, value } of pieces) yield { first: bytesOf(half, first), last: bytesOf(half, last), value };
  }

  #piecesOf(half: number): Piece[] {
    const known = this.#pieces.get(half);
    if (known !== undefined) return known;
    const pieces: Piece[] = [];
    this.#pieces.set(half, pieces);
    return pieces;
  }
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/** `10.0.0.0-10.0.0.255`. Undefined: it is none. */
function parseRange(text: string): Range | undefined {
  const [from = '', to = '', ...more] = text.split('-');
  if (!isIPv4(from) || !isIPv4(to) || more.length > 0) return undefined;
  const [first, last] = [numberOf(from), numberOf(to)];
  return first <= last ? { first, last } : undefined;
}

function numberOf(address: string): number {
  return Buffer.from(binaryAddress(address), 'latin1').readUInt32BE(0);
}

function* halvesOf({ first, last }: Range): Generator<{ half: number; first: number; last: number }> {
  const [from, to] = [first >>> 16, last >>> 16];
  for (let half = from; half <= to; half++)
    yield { half, first: half === from ? first & 0xffff : 0, last: half === to ? last & 0xffff : 0xffff };
}

/** The index of the last piece that begins at `first` or before; -1: there is none. */
function lastNotAfter(pieces: readonly Piece[], first: number): number {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pieces[middle]!.first <= first) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Parts of a piece that contains another one. */
function split(around: Piece, piece: Piece): Piece[] {
  const pieces = [piece];
  if (around.first < piece.first) pieces.unshift({ ...around, last: piece.first - 1 });
  if (around.last > piece.last) pieces.push({ ...around, first: piece.last + 1 });
  return pieces;
}

function overlap(text: string, half: number, { first, last }: Piece): string {
  return `range "${text}" overlaps "${textOf(half, first)}-${textOf(half, last)}"`;
}

function bytesOf(half: number, lower: number): string {
  return String.fromCharCode(half >>> 8, half & 255, lower >>> 8, lower & 255);
}

function textOf(half: number, lower: number): string {
  return `${half >>> 8}.${half & 255}.${lower >>> 8}.${lower & 255}`;
}
