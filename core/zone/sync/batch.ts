/** Bytes of a batch before base64: what does not fit waits for the next one. */
export const MOST_BYTES = 512 * 1024;
const MAGIC = 0x315a_5653;
/** Shapes of entries: more are not read. */
const MOST_NUMBERS = 64;
const LONGEST_ID = 4096;
const LONGEST_VALUE = 65_535;

/** Shape of the entries of one table. */
export interface Shape {
  readonly id: string;
  /** Numbers of each entry. */
  readonly numbers: number;
  /** Bytes of each entry besides key and numbers. */
  readonly valueLength: number;
}

/**
 * Changes of several tables on their way to other nodes: a magic number, then for each table its id, the shape of its entries, their number, and the entries: key,
 * numbers, bytes. Little endian.
 */
export class BatchWriter {
  readonly #buffer = Buffer.allocUnsafe(MOST_BYTES);
  #at = 0;
  #countAt = 0;
  #count = 0;

  constructor() {
    this.clear();
  }

  get isEmpty(): boolean {
    return this.#at === 4;
  }

  clear(): void {
    this.#at = this.#buffer.writeUInt32LE(MAGIC, 0);
  }

  get text(): string {
    return this.#buffer.toString('base64', 0, this.#at);
  }

  /** Begins the entries of a table. False: there is no room. */
  begin({ id, numbers, valueLength }: Shape): boolean {
    const length = Buffer.byteLength(id);
    if (length > LONGEST_ID || this.#at + length + 9 > MOST_BYTES) return false;
    this.#at = this.#buffer.writeUInt16LE(length, this.#at);
    this.#at += this.#buffer.write(id, this.#at);
    this.#at = this.#buffer.writeUInt8(numbers, this.#at);
    this.#at = this.#buffer.writeUInt16LE(valueLength, this.#at);
    this.#countAt = this.#at;
    this.#count = 0;
    this.#at = this.#buffer.writeUInt32LE(0, this.#at);
    return true;
  }

  /** True if an entry with the longest key fits. */
  hasRoom({ numbers, valueLength }: Shape): boolean {
    return this.#at + 2 + 65_535 + numbers * 8 + valueLength <= MOST_BYTES;
  }

  add(key: Buffer, numbers: ArrayLike<number>, value?: Uint8Array): void {
    this.#at = this.#buffer.writeUInt16LE(key.length, this.#at);
    this.#at += key.copy(this.#buffer, this.#at);
    for (let at = 0; at < numbers.length; at++) this.#at = this.#buffer.writeDoubleLE(numbers[at]!, this.#at);
    if (value !== undefined) {
      this.#buffer.set(value, this.#at);
      this.#at += value.length;
    }
    this.#buffer.writeUInt32LE(++this.#count, this.#countAt);
  }
}

/** The entries of one table, as they came. One object for all of them: it is the next one after each {@link next}. */
export class Section {
  key: Buffer = EMPTY;
  readonly amounts: Float64Array;
  value: Buffer = EMPTY;
  #left: number;

  constructor(
    private readonly reader: BatchReader,
    readonly shape: Shape,
    readonly count: number,
  ) {
    this.#left = count;
    this.amounts = new Float64Array(shape.numbers);
  }

  /** @returns false at the end @throws RangeError for content that is malformed */
  next(): boolean {
    if (this.#left-- <= 0) return false;
    const { reader, amounts, shape } = this;
    this.key = reader.bytes(reader.number(2));
    for (let at = 0; at < amounts.length; at++) amounts[at] = reader.double();
    this.value = reader.bytes(shape.valueLength);
    return true;
  }

  /** Reads over the rest. */
  skip(): void {
    while (this.next());
  }
}

/** Reads what {@link BatchWriter} has written, or anything else. */
export class BatchReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(text: string) {
    this.#bytes = Buffer.from(text, 'base64');
  }

  /** @throws RangeError for content that is malformed */
  *sections(): Generator<Section> {
    if (this.number(4) !== MAGIC) throw new RangeError('another format');
    while (this.#at < this.#bytes.length) {
      const length = this.number(2);
      if (length > LONGEST_ID) throw new RangeError('a name that is too long');
      const id = this.bytes(length).toString();
      const [numbers, valueLength, count] = [this.number(1), this.number(2), this.number(4)];
      if (numbers > MOST_NUMBERS || valueLength > LONGEST_VALUE) throw new RangeError('entries that are too large');
      const section = new Section(this, { id, numbers, valueLength }, count);
      yield section;
      section.skip();
    }
  }

  number(bytes: 1 | 2 | 4): number {
    const from = this.#advance(bytes);
    return this.#bytes.readUIntLE(from, bytes);
  }

  /** @throws RangeError for NaN and infinity */
  double(): number {
    const value = this.#bytes.readDoubleLE(this.#advance(8));
    if (!Number.isFinite(value)) throw new RangeError('a value that is not a number');
    return value;
  }

  bytes(length: number): Buffer {
    const from = this.#advance(length);
    return this.#bytes.subarray(from, from + length);
  }

  #advance(bytes: number): number {
    const from = this.#at;
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw new RangeError('content that was cut off');
    return from;
  }
}

const EMPTY = Buffer.alloc(0);
