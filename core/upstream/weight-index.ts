import type { Peer } from './peer.js';

/**
 * Members in their order, by weight: finds the one that holds a unit of all weights (a Fenwick tree of sums). Members that are gone leave a
 * place of weight 0, so that a change costs O(log n); when half of the places are such, it is made anew.
 */
export class WeightIndex {
  readonly #places = new Map<Peer, number>();
  #peers: (Peer | undefined)[] = [];
  /** `sums[i]`: weights of the places from i - (i & -i) to i, counted from 1. */
  #sums: number[] = [0];
  #weights: number[] = [];
  #total = 0;
  /** Order of the last place, also of one whose member is gone. */
  #lastOrder = -1;

  constructor(peers: Iterable<Peer>) {
    for (const peer of [...peers].sort((one, other) => one.order - other.order)) this.add(peer);
  }

  get total(): number {
    return this.#total;
  }

  /** A member that came after all others, or between them: then all is made anew. */
  add(peer: Peer): void {
    if (peer.order < this.#lastOrder) {
      this.#rebuild([...this.#known(), peer]);
      return;
    }
    this.#lastOrder = peer.order;
    this.#places.set(peer, this.#peers.length);
    this.#peers.push(peer);
    this.#weights.push(0);
    this.#sums.push(this.#sumBelow(this.#peers.length));
    this.#set(this.#peers.length - 1, peer.weight);
  }

  /** Its weight is another one, or it became a backup member or none. */
  change(peer: Peer): void {
    const place = this.#places.get(peer);
    if (peer.backup) this.remove(peer);
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
    let rest = point;
    let place = 0;
    for (let step = 2 ** Math.floor(Math.log2(this.#peers.length)); step >= 1; step /= 2) {
      const next = place + step;
      if (next > this.#peers.length || this.#sums[next]! > rest) continue;
      place = next;
      rest -= this.#sums[next]!;
    }
    return this.#peers[place];
  }

  *#known(): Generator<Peer> {
    for (const peer of this.#peers) if (peer !== undefined) yield peer;
  }

  #rebuild(peers: Peer[]): void {
    this.#places.clear();
    this.#peers = [];
    this.#sums = [0];
    this.#weights = [];
    this.#total = 0;
    this.#lastOrder = -1;
    for (const peer of peers.sort((one, other) => one.order - other.order)) this.add(peer);
  }

  /** The sum that a new place `index`, counted from 1, begins with: of the places before it that it covers. */
  #sumBelow(index: number): number {
    let sum = 0;
    for (let below = index - 1; below > index - (index & -index); below -= below & -below) sum += this.#sums[below]!;
    return sum;
  }

  #set(place: number, weight: number): void {
    const change = weight - this.#weights[place]!;
    if (change === 0) return;
    this.#weights[place] = weight;
    this.#total += change;
    for (let index = place + 1; index < this.#sums.length; index += index & -index) this.#sums[index]! += change;
  }
}
