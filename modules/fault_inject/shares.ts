/** Fractions of the powers of one number (Roberts' R2): points that fill a square evenly, however many there are. */
const FIRST_STEP = 0.7548776662466927;
const SECOND_STEP = 0.5698402909980532;

/**
 * Chooses two shares of a sequence, independently of each other. Of n items about n × share are chosen, off by a few: much more exact than
 * chance, and still without a pattern that clients in turn would fall into.
 */
export class Shares {
  #first = Math.random();
  #second = Math.random();

  /** @param first from 0, none, to 1, all @param second as `first` */
  constructor(
    private readonly first: number,
    private readonly second: number,
  ) {}

  /** Moves on to the next item. */
  next(): void {
    this.#first = (this.#first + FIRST_STEP) % 1;
    this.#second = (this.#second + SECOND_STEP) % 1;
  }

  get isInFirst(): boolean {
    return this.#first < this.first;
  }

  get isInSecond(): boolean {
    return this.#second < this.second;
  }
}
