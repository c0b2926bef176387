/** A small generator with a seed (xorshift32): tests that use it do the same every time. */
export class Random {
  constructor(private state: number) {}

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % limit;
  }
}
