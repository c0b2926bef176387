import type { ResponseBuffering } from '../../module/services.js';
import { ByteQueue } from '../../net/byte-queue.js';
import type { Lender, RequestOwner } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { type FileWriter, TemporaryFile } from '../request/temporary-file.js';
import { endResponse, isResponseBehind, writeResponse } from '../response/response.js';
import type { FilePlan } from '../site/temporary-path.js';

/** A piece of at least that size is kept in the memory it was read into; smaller ones are copied. */
const LARGE = 32_768;

/** Who fills the buffer. */
export interface BufferListener {
  /** There is room for more. */
  onRoom(): void;
  /** The file is of no use; the log says why. */
  onBufferFailed(): void;
}

/**
 * What a member has sent of a response and a slow client has not taken yet, in this order: `front` in memory, the temporary file, and what
 * is too much for the file. When the member has sent everything, the buffer is the request's owner until the client has it.
 */
export class ResponseBuffer implements RequestOwner, FileWriter, Lender {
  readonly outlivesClient = false;
  readonly #front = new ByteQueue();
  #file: TemporaryFile | undefined = undefined;
  /** Bytes of the file that were read. */
  #read = 0;
  #reading = false;
  readonly #rest = new ByteQueue();
  /** Memory that the file is read into, while this buffer has it. */
  #piece: Buffer | undefined = undefined;
  #listener: BufferListener | undefined;
  /** The member has sent everything, or as much as it ever will. */
  #ended = false;
  #truncated = false;
  #over = false;

  constructor(
    private readonly request: Request,
    private readonly settings: ResponseBuffering,
    private readonly plan: FilePlan,
    listener: BufferListener,
  ) {
    this.#listener = listener;
  }

  get isEmpty(): boolean {
    return this.#front.isEmpty && this.#rest.isEmpty && !this.#hasFile;
  }

  /** The member has to wait: the memory, and the file, hold what they may, or the disk is slower than the member. */
  get isFull(): boolean {
    if (!this.#rest.isEmpty) return true;
    // One piece of each response is on its way to the disk: there may be many responses.
    if (this.#file !== undefined) return this.#file.isBusy;
    return this.settings.maxFileSize === 0 && this.#front.length >= this.settings.memory;
  }

  /** The client's turn, or one behind what waits already. */
  write(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (this.#over) return;
    if (this.isEmpty && !isResponseBehind(this.request)) {
      writeResponse(this.request, chunk, from, to, lender);
      return;
    }
    const part = chunk.subarray(from, to);
    const kept = part.length >= LARGE ? lender?.keepBuffer() : undefined;
    const borrowed = lender !== undefined && kept === undefined;
    const { maxFileSize, memory } = this.settings;
    const inMemory = this.#front.length + part.length <= memory;
    if (!this.#hasFile && (inMemory || maxFileSize === 0)) this.#front.push(part, borrowed);
    else if (this.#rest.isEmpty && (this.#file?.length ?? 0) + part.length <= maxFileSize) this.#openFile().append(part, borrowed, kept);
    else this.#rest.push(part, borrowed);
  }

  /** The member has sent everything: the client gets it without it. */
  end(): void {
    this.#ended = true;
    this.#listener = undefined;
    this.request.owner = this;
    this.#flush();
  }

  /** The member will send no more, although something is missing: the client gets what is here, and sees that it is not everything. */
  cutOff(): void {
    this.#truncated = true;
    this.end();
  }

  close(): void {
    this.#over = true;
    this.#listener = undefined;
    this.#front.clear();
    this.#rest.clear();
    this.#file?.close();
    if (this.#piece !== undefined && !this.#reading) this.request.context.buffers.give(this.#piece);
    this.#piece = undefined;
  }

  abort(): void {
    this.close();
    this.request.context.log.write('info', 'client prematurely closed connection while sending to client', this.request);
  }

  discard(): void {
    this.close();
  }

  onDrain(): void {
    this.#flush();
    this.#tellOfRoom();
  }

  onFileWritten(): void {
    this.#flush();
    this.#tellOfRoom();
  }

  onFileFailed(): void {
    const { request } = this;
    const listener = this.#listener;
    this.close();
    if (listener !== undefined) listener.onBufferFailed();
    else request.stream.abort(request);
  }

  // As a lender of what it reads from the file.

  get hasOwnBuffer(): boolean {
    return this.#piece !== undefined;
  }

  keepBuffer(): Buffer | undefined {
    const kept = this.#piece;
    this.#piece = undefined;
    return kept;
  }

  get #hasFile(): boolean {
    return this.#file !== undefined && this.#file.length > 0;
  }

  #openFile(): TemporaryFile {
    this.#file ??= new TemporaryFile(this.request, this.plan, this);
    return this.#file;
  }

  /** Gives the client what it takes. */
  #flush(): void {
    const { request } = this;
    while (!this.#over && !this.#reading && !isResponseBehind(request)) {
      const piece = this.#front.shift();
      if (piece !== undefined) writeResponse(request, piece, 0, piece.length, undefined);
      else if (this.#hasFile) {
        this.#readFile();
        return;
      } else if (!this.#rest.isEmpty) for (const rest of this.#rest.take()) this.#front.push(rest, false);
      else break;
    }
    if (this.#over) return;
    if (this.#ended && this.isEmpty && !this.#reading) this.#finish();
    else if (request.stream.isBehind) request.stream.watchSending(request);
  }

  /** What is on the disk already; more comes with {@link onFileWritten}. */
  #readFile(): void {
    const file = this.#file;
    const length = Math.min((file?.written ?? 0) - this.#read, this.settings.readSize);
    if (file === undefined || length === 0) return;
    this.#reading = true;
    const buffer = (this.#piece ??= this.request.context.buffers.take());
    file.read(buffer.subarray(0, length), this.#read, (bytes) => {
      this.#reading = false;
      if (bytes === 0) {
        this.onFileFailed();
        return;
      }
      this.#read += bytes;
      if (this.#read === file.length && file.isWritten) {
        file.rewind();
        this.#read = 0;
      }
      writeResponse(this.request, buffer, 0, bytes, this);
      this.#flush();
      this.#tellOfRoom();
    });
  }

  #tellOfRoom(): void {
    if (!this.#over && !this.isFull) this.#listener?.onRoom();
  }

  #finish(): void {
    const { request } = this;
    this.close();
    request.owner = undefined;
    if (this.#truncated) request.stream.abort(request);
    else endResponse(request);
  }
}
