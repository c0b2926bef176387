import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import type { LogLevel } from '../contract/log.js';
import type { Dialer } from '../net/dialer.js';
import type { DatagramReceiver, Datagrams } from '../net/transport/datagrams.js';
import { UnixDatagrams } from '../net/transport/unix-datagrams.js';
import { LogTargetError } from './log-file-error.js';
import { severity } from './levels.js';
import type { OpenLog } from './open-log.js';
import { SyslogStream } from './syslog-stream.js';
import type { SyslogTarget } from './syslog-target.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Bytes that may wait for the address of the server; more are lost. */
const MOST_WAITING = 1_048_576;
/** Longest datagram; the rest of a line is cut off. */
const LONGEST = 65_000;
/** Milliseconds after which a name that was not found is looked up again. */
const RETRY_MS = 30_000;

/** A server says nothing. Where there is none, lines are lost. */
const NO_RECEIVER: DatagramReceiver = { onDatagram: () => undefined, onSocketError: () => undefined };

/**
 * A log that is sent to a syslog server (RFC 3164, or RFC 5424): a datagram for each line, which is lost where it cannot be sent, or over TCP, where some
 * wait for the server. Nothing ever waits for it.
 */
export class SyslogLog implements OpenLog {
  /** Rejects with nginx's text if the server's name has no address. */
  readonly ready: Promise<void> | undefined;
  readonly #prefix: string;
  #users = 1;
  /** Of this second. */
  #time = '';
  #second = 0;
  #socket: Datagrams | undefined;
  #unix: UnixDatagrams | undefined;
  #stream: SyslogStream | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lookedUpAt = 0;
  #isShut = false;

  /** @param forget called when it is not used any more */
  constructor(
    private readonly target: SyslogTarget,
    private readonly dialer: Dialer,
    private readonly forget: () => void,
  ) {
    this.#prefix = target.isStructured ? structuredHead(target) : `${target.hasHostname ? ` ${hostname()}` : ''} ${target.tag}: `;
    const { server } = target;
    if ('path' in server) this.#openUnix(server.path);
    else if (target.isStream) {
      this.#stream = new SyslogStream({ ...server, lostLine: (count) => this.#bytesOf(lostText(count), 'warn') }, dialer);
      if (isMainThread && isIP(server.host) === 0) this.ready = this.#addressOf(server.host).then(() => undefined);
      this.ready?.catch(() => undefined);
    } else if (isIP(server.host) !== 0) this.#connect(server.host, server.port);
    else {
      const found = this.#lookUp(server.host, server.port);
      // The master has found it: a worker that takes the place of another one goes on without.
      if (isMainThread) this.ready = found;
      found.catch(() => undefined);
    }
  }

  write(line: string, level?: LogLevel): void {
    const bytes = this.#bytesOf(line, level);
    if (this.#stream !== undefined) this.#stream.send(bytes);
    else if (this.#unix !== undefined) this.#unix.send(bytes);
    else if (this.#socket !== undefined) this.#socket.send(bytes);
    else this.#hold(bytes);
  }

  #bytesOf(line: string, level: LogLevel | undefined): Buffer {
    const rank = level === undefined ? this.target.severity : severity(level);
    const time = this.target.isStructured ? `1 ${new Date().toISOString()}` : this.#now();
    const text = `<${this.target.facility * 8 + rank}>${time}${this.#prefix}${line}`;
    return Buffer.from(text, 'utf8').subarray(0, LONGEST);
  }

  use(): this {
    this.#users++;
    return this;
  }

  close(): void {
    if (--this.#users === 0) this.forget();
  }

  flush(): void {
    // Lines wait for nothing but the address.
  }

  reopen(): void {
    // There is no file that could have another name by now.
  }

  shut(): void {
    this.#isShut = true;
    this.#waiting = [];
    this.#socket?.close();
    this.#socket = undefined;
    this.#unix?.close();
    this.#unix = undefined;
    this.#stream?.close();
    this.#stream = undefined;
  }

  #openUnix(path: string): void {
    try {
      this.#unix = new UnixDatagrams(path);
    } catch (error) {
      throw new LogTargetError(`syslog server "${this.target.serverText}" cannot be used: ${(error as Error).message}`);
    }
  }

  async #lookUp(name: string, port: number): Promise<void> {
    this.#lookedUpAt = Date.now();
    const address = await this.#addressOf(name);
    if (!this.#isShut) this.#connect(address, port);
  }

  async #addressOf(name: string): Promise<string> {
    const { address } = await lookup(name, { order: 'ipv4first' }).catch(() => {
      throw new LogTargetError(`host not found in syslog server "${this.target.serverText}"`);
    });
    return address;
  }

  #connect(address: string, port: number): void {
    try {
      this.#socket = this.dialer.datagrams(address, port, NO_RECEIVER);
    } catch {
      // No descriptor is free: another attempt follows.
      this.#lookedUpAt = Date.now();
      return;
    }
    this.#socket.unref?.();
    for (const bytes of this.#waiting) this.#socket.send(bytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #hold(bytes: Buffer): void {
    const { server } = this.target;
    if (this.#isShut) return;
    if (this.#lookedUpAt > 0 && 'host' in server && Date.now() - this.#lookedUpAt > RETRY_MS)
      this.#lookUp(server.host, server.port).catch(() => undefined);
    if (this.#waitingBytes + bytes.length > MOST_WAITING) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  /** `Nov  2 16:00:00` in local time. */
  #now(): string {
    const second = Math.floor(Date.now() / 1000);
    if (second === this.#second) return this.#time;
    const date = new Date(second * 1000);
    const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0'));
    this.#second = second;
    this.#time = `${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${hours}:${minutes}:${seconds}`;
    return this.#time;
  }
}

/** Host, name of the program, process, and neither a message id nor structured data (RFC 5424, 6.2 and 6.3). */
function structuredHead({ hasHostname, tag }: SyslogTarget): string {
  return ` ${hasHostname ? hostname() : '-'} ${tag === '' ? '-' : tag} ${process.pid} - - `;
}

function lostText(count: number): string {
  return `${count} ${count === 1 ? 'line was' : 'lines were'} lost: the syslog server was away or too slow`;
}
