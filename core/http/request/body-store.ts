import type { Lender } from './lender.js';
import { StoreReader, type StoreSink } from './store-reader.js';
import { StoredPiece } from './stored-piece.js';
import { type FileWriter, type StoreOwner, TemporaryFile } from './temporary-file.js';
import type { StorePlan } from '../site/temporary-path.js';

/** A piece of at least that size goes to the file from the memory it was read into; smaller ones are copied. */
const LARGE = 32_768;

/** The source that fills a store. */
export interface StoreWriter {
  /** There is room for more, or everything has reached the disk. */
  onStoreRoom(): void;
  /** The disk failed, and the body is lost; the log says why. The readers get the error as well. */
  onStoreLost(): void;
}

/**
 * A body that is written once, at the pace of its source, and read by any number of readers, each at its own: in memory up to a limit, then in
 * a temporary file. Data that all readers have passed is freed, unless the store {@link keepsAll}.
 */
export class BodyStore implements FileWriter {
  /** Bytes that were written, including the ones that are freed again. */
  length = 0;
  /** The source has given everything, or as much as it ever will. */
  ended = false;
  /** Something is missing at the end. */
  truncated = false;
  /** The disk failed. */
  lost = false;
  readonly #pieces: StoredPiece[] = [];
  readonly #readers = new Set<StoreReader>();
  #file: TemporaryFile | undefined = undefined;
  /** Bytes of the pieces in memory, and of the pieces in the file. */
  #inMemory = 0;
  #inFile = 0;
  #keepsAll: boolean;
  #closed = false;

  /** @param keepsAll nothing is freed before {@link forget}: readers may come later */
  constructor(
    private readonly owner: StoreOwner,
    private readonly plan: StorePlan,
    private readonly writer: StoreWriter,
    keepsAll: boolean,
  ) {
    this.#keepsAll = keepsAll;
  }

  /** The writer has to wait. */
  get isFull(): boolean {
    const { memory, writeAhead } = this.plan;
    if (this.#file !== undefined && this.#file.unwritten > writeAhead) return true;
    return this.#inMemory > memory || (this.#inMemory === memory && this.plan.maxFileSize === 0);
  }

  /** True if it has readers, or may get some. */
  get isNeeded(): boolean {
    return !this.lost && (!this.#closed || this.#readers.size > 0);
  }

  /** Everything is where readers find it at once, or in a file that another program may read. */
  get isSettled(): boolean {
    return this.#file === undefined || this.#file.isWritten;
  }

  /** Name of the file; empty: there is none, or it is not open yet. */
  get path(): string {
    return this.#file?.path ?? '';
  }

  /** The whole body, if all of it is in memory. */
  get whole(): Buffer | undefined {
    if (this.#inFile > 0 || this.#inMemory < this.length || this.lost) return undefined;
    const [first] = this.#pieces;
    if (first !== undefined && this.#pieces.length === 1) return first.bytes;
    return Buffer.concat(this.#pieces.map((piece) => piece.bytes as Buffer));
  }

  /**
   * Adds to the body.
   * @param borrowed the bytes are only valid during the call
   * @param lender whose memory they are in, if it can be had
   */
  append(chunk: Buffer, borrowed: boolean, lender?: Lender): void {
    if (this.ended || chunk.length === 0) return;
    if (this.#goesToFile(chunk.length)) this.#appendToFile(chunk, borrowed, lender);
    else this.#appendToMemory(chunk, borrowed);
    this.length += chunk.length;
    this.#wake();
  }

  /** @param truncated something is missing */
  end(truncated = false): void {
    if (this.ended) return;
    this.ended = true;
    this.truncated = truncated;
    this.#wake();
  }

  /** A reader from the first byte on that is still here. It has to be closed. */
  open(sink: StoreSink): StoreReader {
    const reader = new StoreReader(this, this.owner.context.buffers, sink, this.#pieces[0]?.start ?? this.length);
    this.#readers.add(reader);
    return reader;
  }

  /** No reader will come any more: data that all present ones have passed is freed. */
  forget(): void {
    this.#keepsAll = false;
    this.free();
  }

  /** The owner needs it no more. Data that its readers have not passed stays for them. */
  close(): void {
    this.#closed = true;
    this.forget();
  }

  // For readers.

  /** The piece that a byte is in; undefined: it has not come yet. */
  pieceAt(position: number): StoredPiece | undefined {
    return this.#pieces.find((piece) => position < piece.end);
  }

  /** Bytes of a piece from a position on that can be read now. */
  readable(piece: StoredPiece, position: number): number {
    const at = position - piece.start;
    return piece.bytes === undefined ? Math.min(piece.length, (this.#file?.written ?? 0) - piece.fileAt) - at : piece.length - at;
  }

  /** @param done gets the number of bytes. It is not called when the body is lost: readers are woken then. */
  readFile(at: number, into: Buffer, done: (bytes: number) => void): void {
    this.#file?.read(into, at, (bytes) => {
      if (bytes === 0) this.onFileFailed();
      else done(bytes);
    });
  }

  leave(reader: StoreReader): void {
    this.#readers.delete(reader);
    this.free();
  }

  /** A reader has moved on, or is gone. */
  free(): void {
    if (this.#keepsAll) return;
    let passed = this.length;
    for (const reader of this.#readers) passed = Math.min(passed, reader.position);
    const wasFull = this.isFull;
    while ((this.#pieces[0]?.end ?? Infinity) <= passed && this.#mayDrop(this.#pieces[0])) this.#drop();
    if (this.#closed && this.#readers.size === 0) this.#dispose();
    else if (wasFull && !this.isFull) this.writer.onStoreRoom();
  }

  // From the file.

  onFileWritten(): void {
    this.free();
    if (this.isNeeded && !this.isFull) this.writer.onStoreRoom();
    this.#wake();
  }

  onFileFailed(): void {
    if (this.lost) return;
    this.lost = this.ended = this.truncated = true;
    this.#file = undefined;
    this.writer.onStoreLost();
    this.#wake();
    this.#dispose();
  }

  #goesToFile(bytes: number): boolean {
    const { memory, maxFileSize, fileHoldsAll } = this.plan;
    if (maxFileSize === 0) return false;
    if (this.#inFile === 0 && this.#inMemory + bytes <= memory && !(this.owner.context.buffers.isScarce && !fileHoldsAll)) return false;
    const last = this.#pieces.at(-1);
    // Data after the end of a full file waits there for the readers.
    const overflows = this.#inFile > 0 && last?.bytes !== undefined;
    return !overflows && (this.#file?.length ?? 0) + bytes <= maxFileSize;
  }

  #appendToFile(chunk: Buffer, borrowed: boolean, lender: Lender | undefined): void {
    const { owner, plan } = this;
    const file = (this.#file ??= new TemporaryFile(owner, plan.file, this));
    if (plan.fileHoldsAll && this.#inMemory > 0) this.#moveToFile(file);
    const kept = chunk.length >= LARGE ? lender?.keepBuffer() : undefined;
    const last = this.#pieces.at(-1);
    if (last === undefined || last.bytes !== undefined) this.#pieces.push(StoredPiece.inFile(this.length, chunk.length, file.length));
    else last.length += chunk.length;
    this.#inFile += chunk.length;
    file.append(chunk, borrowed && kept === undefined, kept);
  }

  #moveToFile(file: TemporaryFile): void {
    const start = this.#pieces[0]?.start ?? 0;
    const fileAt = file.length;
    for (const { bytes } of this.#pieces) if (bytes !== undefined) file.append(bytes, false);
    this.#pieces.length = 0;
    this.#pieces.push(StoredPiece.inFile(start, this.#inMemory, fileAt));
    this.#inFile += this.#inMemory;
    this.#count(-this.#inMemory);
  }

  #appendToMemory(chunk: Buffer, borrowed: boolean): void {
    const last = this.#pieces.at(-1);
    this.#count(chunk.length);
    if (last?.take(chunk) === true) return;
    last?.trim();
    this.#pieces.push(StoredPiece.inMemory(this.length, chunk, borrowed, this.#inMemory));
  }

  #mayDrop(piece: StoredPiece | undefined): boolean {
    // Data on its way to the disk has to arrive there, or the file would not know where it is.
    return piece?.bytes !== undefined || this.#file?.isWritten === true;
  }

  #drop(): void {
    const piece = this.#pieces.shift() as StoredPiece;
    if (piece.bytes !== undefined) {
      this.#count(-piece.length);
      return;
    }
    this.#inFile -= piece.length;
    if (this.#inFile === 0) this.#file?.rewind();
  }

  #count(bytes: number): void {
    this.#inMemory += bytes;
    this.owner.context.buffers.count(bytes);
  }

  #wake(): void {
    for (const reader of this.#readers) reader.wake();
  }

  #dispose(): void {
    this.#count(-this.#inMemory);
    this.#pieces.length = 0;
    this.#inFile = 0;
    this.#file?.close();
    this.#file = undefined;
  }
}
