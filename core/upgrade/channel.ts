import type { Dialer } from '../net/dialer.js';
import type { Connection, ConnectingUser } from '../net/transport/connection.js';

const NEWLINE = 10;

/** Messages over a unix socket, a line of JSON each, in both directions. */
export class UpgradeChannel<In, Out> implements ConnectingUser {
  #connection: Connection | undefined = undefined;
  #rest: Buffer[] = [];
  readonly #connected = Promise.withResolvers<void>();

  /** @param take is called with each message, in their order; what it throws is an error of this program */
  constructor(
    private readonly take: (message: In) => void,
    private readonly ended: () => void,
  ) {}

  /** @throws Error of the system (rejects) */
  connect(dialer: Dialer, path: string): Promise<void> {
    this.#connection = dialer.connect({ path }, this);
    return this.#connected.promise;
  }

  accept(connection: Connection): void {
    this.#connection = connection;
    connection.client = this;
  }

  send(message: Out): void {
    if (this.#connection?.destroyed === false) this.#connection.write(Buffer.from(`${JSON.stringify(message)}\n`));
  }

  /** Earlier messages arrive. */
  close(): void {
    this.#connection?.end();
  }

  onConnect(): void {
    this.#connected.resolve();
  }

  onError(error: Error): void {
    // Of interest before it is connected.
    this.#connected.reject(error);
  }

  onEnd(): void {
    this.#connection?.destroySoon();
  }

  onClose(): void {
    this.ended();
  }

  onDrain(): void {}

  onData(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#rest.push(bytes.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(this.#rest).toString();
      this.#rest = [];
      this.take(JSON.parse(line) as In);
    }
    if (start < bytes.length) this.#rest.push(Buffer.from(bytes.subarray(start)));
  }
}
