import type { SystemCalls } from './calls.js';

/** A socket whose datagrams are collected. */
interface Sender {
  readonly descriptor: number | undefined;
  /** Handles the result of a call for one datagram. */
  sent(result: number): boolean;
}

/** Collects the datagrams that one socket sends within a turn of the event loop, for one call of the system. */
export class DatagramOutbox {
  /** Within a turn: {@link flush} follows. */
  isCollecting = false;
  #sender: Sender | undefined = undefined;
  #count = 0;

  constructor(private readonly calls: SystemCalls) {}

  /** @returns false: it cannot be collected, and nothing waits that would have to leave before it */
  add(sender: Sender, bytes: Uint8Array, name: Uint8Array, source: Uint8Array | undefined): boolean {
    if (!this.isCollecting) return false;
    if (this.#sender !== sender) this.flush();
    const { datagrams } = this.calls;
    let isCollected = datagrams.collect(this.#count, bytes, name, source);
    if (!isCollected) {
      this.flush();
      isCollected = datagrams.collect(0, bytes, name, source);
    }
    if (!isCollected) return false;
    this.#sender = sender;
    this.#count++;
    return true;
  }

  /** The socket is about to be closed. */
  leave(sender: Sender): void {
    if (this.#sender === sender) this.flush();
  }

  flush(): void {
    const sender = this.#sender;
    if (sender === undefined) return;
    const count = this.#count;
    this.#sender = undefined;
    this.#count = 0;
    for (let from = 0; from < count && sender.descriptor !== undefined;) {
      const result = this.calls.datagrams.sendCollected(sender.descriptor, from, count - from);
      // Of the first one: the others are tried.
      if (result < 0) sender.sent(result);
      from += Math.max(result, 1);
    }
  }
}
