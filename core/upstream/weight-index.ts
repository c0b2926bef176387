import type { Peer } from './peer.js';
import { WeightGuide } from './weight-guide.js';

const FIRST_ROOM = 16;
/** A guide pays off when as many units have been asked for as this part of the places. */
const WORTH_IT = 0.25;

/**
 * Members in their order, by weight: finds the one that holds a unit of all weights (a Fenwick tree of sums). Members that are gone leave a
 * place of weight 0, so that a change costs O(log n); when half of the places are such, it is made again. As long as all have the same weight,
 * a place follows from the unit alone; where weights stay as they are for some time, a guide is made.
 */
export class WeightIndex {
  readonly #places = new Map<Peer, number>();
  #peers: (Peer | undefined)[] = [];
  /** `sums[i]`: weights of the places from i - (i & -i) to i, counted from 1. */
  #sums = new Float64Array(FIRST_ROOM);
  #weights = new Float64Array(FIRST_ROOM);
  #total = 0;
  /** The weight of every place; 0: they differ. */
  #common = 0;
  #guide: WeightGuide | undefined;
  /** Units asked for since a weight has changed. */
  #asked = 0;
  /** Order of the last place, also of one whose member is gone. */
  #lastOrder = -1;

  /** @param holds true if a member is to be found; call {@link change} when its result changes */
  constructor(
    peers: Iterable<Peer>,
    private readonly holds: (peer: Peer) => boolean,
  ) {
    for (const peer of [...peers].sort((one, other) => one.order - other.order)) this.add(peer);
  }

  get total(): number {
    return this.#total;
  }

  /** A member that came after all others, or between them: then all is made again. */
  add(peer: Peer): void {
    if (!this.holds(peer)) return;
    if (peer.order < this.#lastOrder) {
      this.#rebuild([...this.#known(), peer]);
      return;
    }
    const place = this.#peers.length;
    this.#makeRoom(place + 2);
    this.#lastOrder = peer.order;
    this.#places.set(peer, place);
    this.#peers.push(peer);
    this.#weights[place] = 0;
    this.#sums[place + 1] = this.#sumBelow(place + 1);
    if (place === 0) this.#common = peer.weight;
    this.#set(place, peer.weight);
  }

  /** Its weight is another one, or it is to be found now and was not before, or the other way round. */
  change(peer: Peer): void {
    const place = this.#places.get(peer);
    if (!this.holds(peer)) this.remove(peer);
    else if (place === undefined) this.add(peer);
    else this.#set(place, peer.weight);
  }

  remove(peer: Peer): void {
    const place = this.#places.get(peer);
    if (place === undefined) return;
    this.#set(place, 0);
    this.#places.delete(peer);
    this.#peers[place] = undefined;
    if (this.#places.size * 2 < this.#peers.length) this.#rebuild([...this.#known()]);
  }

  /** The member with unit `point`, from 0. */
  at(point: number): Peer | undefined {
    if (!(point >= 0 && point < this.#total)) return undefined;
    if (this.#common !== 0) return this.#peers[Math.floor(point / this.#common)];
    if (this.#guide !== undefined) return this.#peers[this.#guide.at(point)];
    if (++this.#asked > this.#peers.length * WORTH_IT) this.#guide = new WeightGuide(this.#weights, this.#peers.length, this.#total);
    return this.#search(point);
  }

  #search(point: number): Peer | undefined {
    const sums = this.#sums;
    const places = this.#peers.length;
    let rest = point;
    let place = 0;
    for (let step = 1 << (31 - Math.clz32(places)); step > 0; step >>>= 1) {
      const next = place + step;
      if (next > places || sums[next]! > rest) continue;
      place = next;
      rest -= sums[next]!;
    }
    return this.#peers[place];
  }

  *#known(): Generator<Peer> {
    for (const peer of this.#peers) if (peer !== undefined) yield peer;
  }

  #rebuild(peers: Peer[]): void {
    this.#places.clear();
    this.#peers = [];
    this.#total = 0;
    this.#lastOrder = -1;
    for (const peer of peers.sort((one, other) => one.order - other.order)) this.add(peer);
  }

  #makeRoom(places: number): void {
    if (places <= this.#sums.length) return;
    this.#sums = copyOf(this.#sums);
    this.#weights = copyOf(this.#weights);
  }

  /** The sum that a new place `index`, counted from 1, begins with: of the places before it that it covers. */
  #sumBelow(index: number): number {
    let sum = 0;
    for (let below = index - 1; below > index - (index & -index); below -= below & -below) sum += this.#sums[below]!;
    return sum;
  }

  #set(place: number, weight: number): void {
    if (weight !== this.#common) this.#common = 0;
    this.#guide = undefined;
    this.#asked = 0;
    const change = weight - this.#weights[place]!;
    if (change === 0) return;
    this.#weights[place] = weight;
    this.#total += change;
    for (let index = place + 1; index <= this.#peers.length; index += index & -index) this.#sums[index]! += change;
  }
}

/** With twice the room. */
function copyOf(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}
