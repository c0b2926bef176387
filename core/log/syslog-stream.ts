import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Dialer } from '../net/dialer.js';
import type { Connection, ConnectingUser } from '../net/transport/connection.js';

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
export class SyslogStream implements ConnectingUser {
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Number of lines at the front that are being written. */
  #writing = 0;
  #lost = 0;
  /** Addresses of the server that this attempt has not tried. */
  #untried: string[] = [];
  #connection: Connection | undefined;
  #isConnected = false;
  #pause = FIRST_PAUSE;
  #timer: NodeJS.Timeout | undefined;
  /** Limit of a connection attempt, or of a write. */
  #limit: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    private readonly owner: StreamOwner,
    private readonly dialer: Dialer,
  ) {
    this.#begin();
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
    if (!this.#isConnected) this.#connection?.destroy();
    else if (this.#connection !== undefined) {
      this.#connection.write(Buffer.concat(this.#waiting.slice(this.#writing)));
      this.#connection.end();
    }
    this.#waiting = [];
  }

  #hold(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
  }

  // The connection's side.

  onConnect(): void {
    clearTimeout(this.#limit);
    const connection = this.#connection;
    if (connection === undefined || this.#isClosed) return void connection?.destroy();
    connection.setKeepAlive(true);
    this.#isConnected = true;
    this.#pause = FIRST_PAUSE;
    if (this.#lost > 0) {
      this.#hold(framed(this.owner.lostLine(this.#lost)));
      this.#lost = 0;
    }
    this.#write();
  }

  /** A server says nothing. */
  onData(): void {}
  onDrain(): void {}
  /** The reason is that of the end, which follows. */
  onError(): void {}

  onEnd(): void {
    this.#connection?.destroySoon();
  }

  onClose(): void {
    clearTimeout(this.#limit);
    const wasConnected = this.#isConnected;
    this.#connection = undefined;
    this.#isConnected = false;
    this.#writing = 0;
    if (this.#isClosed) return;
    if (wasConnected) this.#untried = [];
    this.#connect();
  }

  #begin(): void {
    const { host } = this.owner;
    if (isIP(host) === 0) void this.#lookUp(host);
    else {
      this.#untried = [host];
      this.#connect();
    }
  }

  async #lookUp(host: string): Promise<void> {
    const found = await lookup(host, { all: true }).catch(() => []);
    if (this.#isClosed) return;
    this.#untried = found.map(({ address }) => address);
    this.#connect();
  }

  /** Tries the next address; when there is none, begins again after a pause. */
  #connect(): void {
    const host = this.#untried.shift();
    if (host === undefined) {
      this.#timer = setTimeout(() => this.#begin(), this.#pause * (1 + Math.random() / 4)).unref();
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
      return;
    }
    this.#connection = this.dialer.connect({ host, port: this.owner.port }, this);
    this.#connection.unref?.();
    this.#await();
  }

  #await(): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => this.#connection?.destroy(), PATIENCE).unref();
  }

  #write(): void {
    const connection = this.#connection;
    if (!this.#isConnected || connection === undefined || this.#writing > 0 || this.#waiting.length === 0) return;
    let bytes = 0;
    while (this.#writing < this.#waiting.length && bytes < BATCH) bytes += this.#waiting[this.#writing++]!.length;
    const batch = this.#writing === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting.slice(0, this.#writing), bytes);
    this.#await();
    connection.write(batch, (error) => {
      if ((error ?? undefined) !== undefined || connection !== this.#connection) return;
      clearTimeout(this.#limit);
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
