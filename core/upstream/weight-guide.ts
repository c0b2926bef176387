/**
 * Finds the place that holds a unit of all weights without a search: a table of about as many entries as there are places says where to look, and
 * the place is there or a little further. Made for weights that stay as they are.
 */
export class WeightGuide {
  /** For each place the units up to its end. */
  readonly #ends: Float64Array;
  /** For each entry the first place that reaches beyond its first unit. */
  readonly #starts: Uint32Array;
  readonly #entriesPerUnit: number;

  /** @param weights of the places, with a sum of `total` */
  constructor(weights: Float64Array, places: number, total: number) {
    this.#ends = new Float64Array(places);
    this.#starts = new Uint32Array(places + 1);
    this.#entriesPerUnit = places / total;
    let entry = 0;
    let end = 0;
    for (let place = 0; place < places; place++) {
      end += weights[place]!;
      this.#ends[place] = end;
      // One unit early, because of what is lost in the division.
      for (; entry <= places && entry / this.#entriesPerUnit - 1 < end; entry++) this.#starts[entry] = place;
    }
  }

  /** @param point from 0 to less than the total */
  at(point: number): number {
    const ends = this.#ends;
    let place = this.#starts[Math.floor(point * this.#entriesPerUnit)]!;
    while (ends[place]! <= point) place++;
    return place;
  }
}
