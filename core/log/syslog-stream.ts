import { connect, type Socket } from 'node:net';

/** Bytes of lines that may wait for the server; more are lost, and counted. */
const MOST_WAITING = 1_048_576;
/** Bytes of lines that are written together. */
const BATCH = 65_536;
/** Milliseconds until the next attempt at a connection: twice as many after each failure. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
/** Milliseconds that a connection may take, and that a write may wait for a server that reads nothing. */
const PATIENCE = 15_000;

/** The server, and the text about lost lines. */
export interface StreamOwner {
  readonly host: string;
  readonly port: number;
  /** The line that says how many were lost. */
  lostLine(count: number): Buffer;
}

/**
 * Lines to a syslog server over TCP, each after its length (RFC 6587, 3.4.1). Lines stay until the system has accepted them: lines that were
 * being written when the connection broke are written again, and may arrive twice.
 */
export class SyslogStream {
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Number of lines at the front that are being written. */
  #writing = 0;
  #lost = 0;
  #socket: Socket | undefined;
  #isConnected = false;
  #pause = FIRST_PAUSE;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly owner: StreamOwner) {
    this.#connect();
  }

  send(line: Buffer): void {
    const frame = framed(line);
    if (this.#isClosed || this.#waitingBytes + frame.length > MOST_WAITING) {
      this.#lost++;
      return;
    }
    this.#hold(frame);
    this.#write();
  }

  /** Writes what waits, as far as the system accepts it, and ends the connection. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#isConnected) this.#socket?.end(Buffer.concat(this.#waiting.slice(this.#writing)));
    else this.#socket?.destroy();
    this.#waiting = [];
  }

  #hold(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
  }

  #connect(): void {
    const { host, port } = this.owner;
    const socket = connect({ host, port, timeout: PATIENCE, noDelay: true, keepAlive: true }).unref();
    this.#socket = socket;
    socket.once('connect', () => this.#connected(socket));
    socket.on('timeout', () => {
      if (!this.#isConnected || this.#writing > 0) socket.destroy();
    });
    // The reason is that of the end, which follows.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#ended(socket));
    // A server says nothing, but its end has to be seen.
    socket.resume();
  }

  #connected(socket: Socket): void {
    if (this.#isClosed) return void socket.destroy();
    this.#isConnected = true;
    this.#pause = FIRST_PAUSE;
    if (this.#lost > 0) {
      this.#hold(framed(this.owner.lostLine(this.#lost)));
      this.#lost = 0;
    }
    this.#write();
  }

  #ended(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#isConnected = false;
    this.#writing = 0;
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (1 + Math.random() / 4)).unref();
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #write(): void {
    const socket = this.#socket;
    if (!this.#isConnected || socket === undefined || this.#writing > 0 || this.#waiting.length === 0) return;
    let bytes = 0;
    while (this.#writing < this.#waiting.length && bytes < BATCH) bytes += this.#waiting[this.#writing++]!.length;
    const batch = this.#writing === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting.slice(0, this.#writing), bytes);
    socket.write(batch, (error) => {
      if ((error ?? undefined) !== undefined || socket !== this.#socket) return;
      this.#waiting.splice(0, this.#writing);
      this.#waitingBytes -= bytes;
      this.#writing = 0;
      this.#write();
    });
  }
}

function framed(line: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${line.length} `, 'latin1'), line]);
}
