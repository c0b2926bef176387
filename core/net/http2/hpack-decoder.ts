import { HeaderTable, STATIC_FIELDS, type TableField } from './header-table.js';
import { decodeHuffman } from './huffman.js';
import { Http2ErrorCode, HEADER_TABLE_SIZE, Http2Error } from './protocol.js';

/** Gets the fields of a block in their order. */
export interface FieldSink {
  onField(name: string, value: string): void;
}

/** Memory for a string that is decoded. It grows to the longest one. */
export class HuffmanScratch {
  bytes = Buffer.allocUnsafeSlow(512);
}

/** Numbers above that are an attack: nothing here is that long. */
const MAX_NUMBER = 1 << 24;

/** Decodes the header blocks of one connection (RFC 7541). All blocks have to be decoded, in order: they change the table. */
export class HpackDecoder {
  readonly #table = new HeaderTable(HEADER_TABLE_SIZE);
  #bytes: Buffer = EMPTY;
  #at = 0;
  #end = 0;
  /** Counts what has changed the table: as long as it stays the same, the same block means the same fields. */
  changes = 0;
  /** Fields that the last block has put into the table. */
  #added: TableField[] = [];
  /** That block refers to the table, or changes its size. */
  #dependsOnTable = false;

  /** @param scratch may be shared by all decoders of a thread */
  constructor(private readonly scratch = new HuffmanScratch()) {}

  /** @throws Http2Error COMPRESSION_ERROR, which ends the connection */
  decode(block: Buffer, sink: FieldSink): void {
    this.#bytes = block;
    this.#at = 0;
    this.#end = block.length;
    this.#dependsOnTable = false;
    if (this.#added.length > 0) this.#added = [];
    let mayResize = true;
    while (this.#at < this.#end) {
      const first = block[this.#at] as number;
      if (first >= 0x20 && first < 0x40) {
        if (!mayResize) throw broken('table size update within a header block');
        this.#resize();
        continue;
      }
      mayResize = false;
      const { name, value } = this.#field(first);
      sink.onField(name, value);
    }
    this.#bytes = EMPTY;
  }

  /** Fields that the last block has put into the table, if it means the same whatever is in there; else undefined. For {@link repeat}. */
  get added(): readonly TableField[] | undefined {
    return this.#dependsOnTable ? undefined : this.#added;
  }

  /** The same block once more, whose fields are known. @param added by it, see {@link added} */
  repeat(added: readonly TableField[]): void {
    this.changes += added.length;
    for (const field of added) this.#table.add(field);
  }

  #resize(): void {
    this.#dependsOnTable = true;
    const size = this.#number(5);
    if (size > HEADER_TABLE_SIZE) throw broken('table size update beyond the setting');
    this.changes++;
    this.#table.resize(size);
  }

  #field(first: number): TableField {
    if (first >= 0x80) return this.#indexed(this.#number(7));
    // 01: literal that enters the table; 0000 and 0001: literal that does not.
    const isAdded = first >= 0x40;
    const index = this.#number(isAdded ? 6 : 4);
    const name = index === 0 ? this.#string() : this.#indexed(index).name;
    const field = { name, value: this.#string() };
    if (isAdded) {
      this.changes++;
      this.#added.push(field);
      this.#table.add(field);
    }
    return field;
  }

  #indexed(number: number): TableField {
    if (number > STATIC_FIELDS) this.#dependsOnTable = true;
    const field = this.#table.field(number);
    if (field === undefined) throw broken('index beyond the header table');
    return field;
  }

  /** An integer in the last `bits` bits of the next byte, and perhaps in further ones (RFC 7541, 5.1). */
  #number(bits: number): number {
    const mask = (1 << bits) - 1;
    let value = (this.#bytes[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      if (this.#at >= this.#end) throw broken('truncated integer');
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) * 2 ** shift;
      if (value > MAX_NUMBER || shift > 28) throw broken('integer too large');
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    if (this.#at >= this.#end) throw broken('truncated field');
    const isHuffman = (this.#bytes[this.#at] as number) >= 0x80;
    const length = this.#number(7);
    const from = this.#at;
    const to = from + length;
    if (to > this.#end) throw broken('truncated string');
    this.#at = to;
    return isHuffman ? this.#huffman(from, to) : this.#bytes.latin1Slice(from, to);
  }

  #huffman(from: number, to: number): string {
    const { scratch } = this;
    const room = Math.ceil(((to - from) * 8) / 5);
    if (scratch.bytes.length < room) scratch.bytes = Buffer.allocUnsafeSlow(2 * room);
    const length = decodeHuffman(this.#bytes, from, to, scratch.bytes);
    if (length < 0) throw broken('invalid Huffman code');
    return scratch.bytes.latin1Slice(0, length);
  }
}

const EMPTY = Buffer.alloc(0);

function broken(reason: string): Http2Error {
  return new Http2Error(Http2ErrorCode.CompressionError, reason);
}
