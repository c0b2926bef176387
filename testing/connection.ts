import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const TIMEOUT_MS = 30_000;

/** One side of a connection over TCP: a client of the server under test, or a connection that a member has accepted. Texts are bytes (latin1). */
export class TestConnection {
  /** Everything received so far. */
  received = '';
  #hasEnded = false;

  constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    socket.on('error', () => (this.#hasEnded = true));
    socket.on('end', () => (this.#hasEnded = true));
    socket.on('close', () => (this.#hasEnded = true));
  }

  /** The other side has ended its half, or the connection was reset. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  send(data: string | Uint8Array): void {
    this.socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data);
  }

  /** Sends no more, and still receives. */
  end(data: string | Uint8Array = ''): void {
    this.send(data);
    this.socket.end();
  }

  /** Resolves with the match when {@link received} has `pattern`. @throws Error after 30 seconds, or when the other side has ended without it */
  receive(pattern: RegExp): Promise<RegExpExecArray> {
    return until(
      () => `${String(pattern)}, received: ${JSON.stringify(this.received)}`,
      () => {
        const match = pattern.exec(this.received) ?? undefined;
        if (match === undefined && this.#hasEnded)
          throw new Error(`the connection ended without ${String(pattern)}: ${JSON.stringify(this.received)}`);
        return match;
      },
    );
  }

  /** Resolves with everything received when the other side has ended. @throws Error after 30 seconds */
  receiveAll(): Promise<string> {
    return until(
      () => `the end of the connection, received: ${JSON.stringify(this.received)}`,
      () => (this.#hasEnded ? this.received : undefined),
    );
  }

  /** Closes the connection at once. */
  close(): void {
    this.socket.destroy();
  }
}

/** Resolves when it is connected. @throws Error if that fails */
export function openConnection(port: number): Promise<TestConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => resolve(new TestConnection(socket)));
  });
}

/** Looks until there is a result. @throws Error with `what` after 30 seconds */
export async function until<T>(what: () => string, probe: () => T | undefined): Promise<T> {
  for (const end = Date.now() + TIMEOUT_MS; ;) {
    const found = probe();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`waited ${TIMEOUT_MS / 1000} s in vain for ${what()}`);
    await sleep(5);
  }
}
