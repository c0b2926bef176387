import { FileSending, type ConnectionUser } from '../connection.js';
import type { SocketAddress } from './addresses.js';
import { JOINED, type ByteCalls } from './calls.js';
import { LONGEST, type CollectedWriter } from './collected-writes.js';
import { Errno } from './errno.js';
import type { EpollLoop } from './loop.js';
import { WatchedSocket } from './watched-socket.js';
import { UnsentOutput } from './unsent-output.js';

/** Bytes that wait from which on a writer should: as sockets of Node.js have it. */
const HIGH_WATER = 65_536;

/** A socket that sends: at once, after the events of its group, or when the system has room again. */
export abstract class SendingSocket extends WatchedSocket implements CollectedWriter {
  client: ConnectionUser | undefined = undefined;
  destroyed = false;
  errored: Error | null = null;
  writableEnded = false;
  writableNeedDrain = false;
  protected readonly output = new UnsentOutput();
  /** Calls that move its bytes: the system's, or those of TLS. */
  protected bytes: ByteCalls;
  protected isSecure = false;
  protected corks = 0;
  /** A write of it waits in {@link EpollLoop.collecting}. */
  protected isCollected = false;
  /** A part of a file waits for room. */
  protected fileWaits = false;

  /** @param isConnecting nothing can be written yet, because it connects, or later because of a handshake */
  constructor(
    loop: EpollLoop,
    descriptor: number,
    remote: SocketAddress | undefined,
    events: number,
    protected isConnecting: boolean,
  ) {
    super(loop, descriptor, remote, events);
    this.bytes = loop.calls;
  }

  /** Has reported what is waited for. */
  protected abstract watchWanted(): void;
  /** @param error number of the system, below 0 */
  protected abstract fail(error: number, syscall: string): void;
  /** Everything is sent, and nothing more will be written. */
  protected abstract finish(): void;

  get writableLength(): number {
    return this.output.length;
  }

  /** A write goes to the system at once. */
  get hasRoom(): boolean {
    return this.corks === 0 && !this.isConnecting && this.output.isEmpty && !this.isCollected && !this.writableEnded;
  }

  write(data: string | Uint8Array, encodingOrTaken?: 'latin1' | ((error?: Error | null) => void)): boolean {
    const taken = typeof encodingOrTaken === 'function' ? encodingOrTaken : undefined;
    const isCollected = taken === undefined && this.#collects(data.length);
    if (!isCollected) this.sendCollected();
    if (this.destroyed || this.writableEnded) {
      if (taken !== undefined) process.nextTick(taken, new Error('the connection is closed'));
      return false;
    }
    if (this.corks > 0 || this.isConnecting || !this.output.isEmpty) return this.#enqueue(data, taken);
    if (isCollected) {
      this.isCollected = true;
      this.loop.collecting?.add(this, data);
      return true;
    }
    const sent = typeof data === 'string' ? this.#sendText(data) : this.bytes.send(this.number, data);
    if (sent === data.length) {
      if (taken !== undefined) process.nextTick(taken);
      return true;
    }
    if (sent < 0 && sent !== -Errno.Again && sent !== -Errno.Interrupted) {
      this.fail(sent, 'write');
      if (taken !== undefined) process.nextTick(taken, this.errored);
      return false;
    }
    if (sent <= 0) return this.#enqueue(data, taken);
    return this.#enqueue(typeof data === 'string' ? data.slice(sent) : data.subarray(sent), taken);
  }

  writeBoth(text: string, bytes: Buffer, from: number, to: number): boolean {
    const length = text.length + to - from;
    const isCollected = this.#collects(length);
    const mustWait = this.corks > 0 || this.isConnecting || !this.output.isEmpty;
    if (mustWait || this.destroyed || this.writableEnded || length > JOINED)
      return this.write(text + bytes.latin1Slice(from, to), 'latin1');
    if (isCollected) {
      this.isCollected = true;
      this.loop.collecting?.addBoth(this, text, bytes, from, to);
      return true;
    }
    this.sendCollected();
    if (!this.output.isEmpty) return this.write(text + bytes.latin1Slice(from, to), 'latin1');
    const { joined } = this.bytes;
    bytes.copy(joined, joined.latin1Write(text, 0), from, to);
    const sent = this.bytes.sendJoined(this.number, length);
    if (sent === length) return true;
    // An error is found, and reported, once more.
    const rest = sent <= 0 ? text + bytes.latin1Slice(from, to) : (text + bytes.latin1Slice(from, to)).slice(sent);
    return this.write(rest, 'latin1');
  }

  writeFile(text: string, file: number, from: number, count: number): boolean {
    const length = text.length + count;
    const isCollected = this.#collects(length);
    if (!isCollected) this.sendCollected();
    const mustWait = this.corks > 0 || this.isConnecting || !this.output.isEmpty;
    if (mustWait || this.destroyed || this.writableEnded || length > JOINED) return false;
    const { joined } = this.bytes;
    if (this.loop.calls.files.readJoined(file, joined.latin1Write(text, 0), count, from) !== count) return false;
    if (isCollected) {
      this.isCollected = true;
      this.loop.collecting?.addBoth(this, '', joined, 0, length);
      return true;
    }
    const sent = this.bytes.sendJoined(this.number, length);
    // An error is found, and reported, once more.
    if (sent !== length) this.write(joined.latin1Slice(Math.max(sent, 0), length), 'latin1');
    return true;
  }

  writeNow(bytes: Buffer): number {
    const isCollected = this.#collects(bytes.length);
    if (!isCollected) this.sendCollected();
    if (this.destroyed || this.writableEnded || this.corks > 0 || this.isConnecting || !this.output.isEmpty) return 0;
    if (!isCollected) return Math.max(this.bytes.send(this.number, bytes), 0);
    this.isCollected = true;
    this.loop.collecting?.add(this, bytes);
    return bytes.length;
  }

  sendFile(file: number, from: number, count: number): number {
    this.sendCollected();
    const isBusy = this.corks > 0 || this.isConnecting;
    // The system would send it as it is.
    if (isBusy || this.isSecure || this.destroyed || this.writableEnded) return FileSending.Impossible;
    if (this.output.isEmpty) {
      const sent = this.loop.calls.sendFile(this.number, file, from, count);
      if (sent >= 0) return sent;
      if (sent === -Errno.BrokenPipe || sent === -Errno.Reset) this.fail(sent, 'write');
      else if (sent !== -Errno.Again && sent !== -Errno.Interrupted) return FileSending.Impossible;
      this.fileWaits = true;
      this.watchWanted();
    }
    this.writableNeedDrain = true;
    return FileSending.NoRoom;
  }

  cork(): void {
    this.sendCollected();
    this.corks++;
  }

  uncork(): void {
    if (this.corks > 0 && --this.corks === 0) this.flush();
  }

  onSent(result: number, memory: Buffer, from: number, to: number): void {
    this.isCollected = false;
    if (result < to - from) {
      if (result < 0 && result !== -Errno.Again && result !== -Errno.Interrupted) {
        this.fail(result, 'write');
        return;
      }
      this.#enqueue(Buffer.from(memory.subarray(from + Math.max(result, 0), to)), undefined);
    } else if (this.writableEnded) this.finish();
  }

  /** For {@link drain}. */
  afterDrain(): void {
    if (!this.writableNeedDrain || this.output.length > 0 || this.destroyed) return;
    this.writableNeedDrain = false;
    this.client?.onDrain();
  }

  /** A write of this length waits for the end of a group of events, after what waits already. */
  #collects(length: number): boolean {
    const { collecting } = this.loop;
    if (collecting === undefined || length === 0 || length > LONGEST || this.isSecure) return false;
    if (this.isCollected && !collecting.canFollow(this, length)) collecting.flush();
    return true;
  }

  protected sendCollected(): void {
    if (this.isCollected) this.loop.collecting?.flush();
  }

  #sendText(text: string): number {
    if (text.length > JOINED) return 0;
    return this.bytes.sendJoined(this.number, this.bytes.joined.latin1Write(text, 0));
  }

  #enqueue(data: string | Uint8Array, taken: ((error?: Error | null) => void) | undefined): boolean {
    this.output.add(data, taken);
    if (this.corks === 0 && !this.isConnecting) this.watchWanted();
    if (this.output.length < HIGH_WATER) return true;
    this.writableNeedDrain = true;
    return false;
  }

  protected flush(): void {
    if (this.isConnecting || this.destroyed) return;
    this.fileWaits = false;
    const error = this.output.send(this.bytes, this.number);
    if (error < 0) {
      this.fail(error, 'write');
      return;
    }
    if (!this.output.isEmpty) {
      this.watchWanted();
      return;
    }
    if (this.writableNeedDrain) process.nextTick(drain, this);
    if (this.writableEnded) this.finish();
    else if (this.isWaitingForRoom) this.watchWanted();
  }
}

function drain(socket: SendingSocket): void {
  socket.afterDrain();
}
