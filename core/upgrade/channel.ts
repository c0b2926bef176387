import type { Socket } from 'node:net';

const NEWLINE = 10;

/** Messages over a socket, a line of JSON each, in both directions. */
export class UpgradeChannel<In, Out> {
  #rest: Buffer[] = [];

  /** @param take is called with each message, in their order; what it throws is an error of this program */
  constructor(
    private readonly socket: Socket,
    private readonly take: (message: In) => void,
    ended: () => void,
  ) {
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => undefined);
    socket.once('close', ended);
  }

  send(message: Out): void {
    if (!this.socket.destroyed) this.socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Earlier messages arrive. */
  close(): void {
    this.socket.end();
  }

  #read(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#rest.push(bytes.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(this.#rest).toString();
      this.#rest = [];
      this.take(JSON.parse(line) as In);
    }
    if (start < bytes.length) this.#rest.push(bytes.subarray(start));
  }
}
