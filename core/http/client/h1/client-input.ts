/** Unconsumed input of one client connection. Between two reads the bytes are this object's own. */
export class ClientInput {
  bytes: Buffer | undefined = undefined;
  /** Where the unused part begins. */
  at = 0;
  /** The bytes are only valid during the present read. */
  borrowed = false;

  get length(): number {
    return this.bytes === undefined ? 0 : this.bytes.length - this.at;
  }

  append(chunk: Buffer, borrowed: boolean): void {
    this.borrowed = this.bytes === undefined && borrowed;
    this.bytes = this.bytes === undefined ? chunk : Buffer.concat([this.bytes.subarray(this.at), chunk]);
    this.at = 0;
  }

  /** Everything before offset `to` is used up. */
  advance(to: number): void {
    if (this.bytes !== undefined && to < this.bytes.length) this.at = to;
    else this.clear();
  }

  clear(): void {
    this.bytes = undefined;
    this.at = 0;
  }

  /** The read is over: what is left is copied if it was only lent. */
  retain(): void {
    if (this.bytes === undefined || !this.borrowed) return;
    this.bytes = Buffer.from(this.bytes.subarray(this.at));
    this.at = 0;
    this.borrowed = false;
  }

  /** Gives away what is left. */
  take(): Buffer | undefined {
    this.retain();
    const left = this.bytes?.subarray(this.at);
    this.clear();
    return left;
  }
}
