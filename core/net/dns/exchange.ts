import type { NameServer } from '../../toolkit/resolver.js';
import type { Dialer } from '../dialer.js';
import type { Connection, ConnectingUser } from '../transport/connection.js';
import type { DatagramReceiver, Datagrams } from '../transport/datagrams.js';
import { SentQuery, type ReplyCheck } from './message.js';
import type { Question, DnsReply } from './records.js';

/** `unreachable`: nothing listens there, or no packet gets there. */
export type ExchangeEnd = Exclude<ReplyCheck, 'unrelated'> | 'unreachable';

/** One question to one server. It ends once, and never while it is made. It has no time limit of its own. */
export interface DnsExchange {
  /** Nothing is reported any more. */
  close(): void;
}

/**
 * Over UDP, from a socket of its own: the port is another one for each query, and only datagrams from the server arrive. Datagrams other
 * than the reply are ignored. A missing server is reported by ICMP.
 */
export class DatagramExchange implements DnsExchange, DatagramReceiver {
  /** Undefined: this server has no descriptor for it. */
  readonly #socket: Datagrams | undefined;
  readonly #query: SentQuery;
  #isOpen = true;

  constructor(
    dialer: Dialer,
    { address, port }: NameServer,
    question: Question,
    private readonly onEnd: (end: ExchangeEnd) => void,
    spelling: 'as it is' | 'in mixed case' = 'in mixed case',
  ) {
    this.#query = new SentQuery(question, spelling);
    try {
      this.#socket = dialer.datagrams(address, port, this);
      this.#socket.send(this.#query.bytes);
    } catch {
      process.nextTick(() => this.#end('unreachable'));
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket?.close();
  }

  onDatagram(message: Buffer): void {
    const check = this.#query.check(message);
    if (check !== 'unrelated') this.#end(check);
  }

  onSocketError(): void {
    this.#end('unreachable');
  }

  #end(end: ExchangeEnd): void {
    if (!this.#isOpen) return;
    this.close();
    this.onEnd(end);
  }
}

/** In the spelling of the question, for a server that changes upper and lower case. */
export class PlainExchange extends DatagramExchange {
  constructor(dialer: Dialer, server: NameServer, question: Question, onEnd: (end: ExchangeEnd) => void) {
    super(dialer, server, question, onEnd, 'as it is');
  }
}

/** Bytes of the length in front of a message (RFC 1035, 4.2.2). */
const LENGTH = 2;

/** Over TCP, for replies that do not fit into a datagram. */
export class StreamExchange implements DnsExchange, ConnectingUser {
  readonly #connection: Connection;
  readonly #query: SentQuery;
  readonly #received: Buffer[] = [];
  #size = 0;
  /** Bytes of the reply with its length, once that is known. */
  #expected = Infinity;
  #isOpen = true;

  constructor(
    dialer: Dialer,
    { address, port }: NameServer,
    question: Question,
    private readonly onEndOf: (end: ExchangeEnd) => void,
  ) {
    this.#query = new SentQuery(question, 'as it is');
    this.#connection = dialer.connect({ host: address, port }, this);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#connection.destroy();
  }

  onConnect(): void {
    const length = Buffer.alloc(LENGTH);
    length.writeUInt16BE(this.#query.bytes.length);
    this.#connection.write(Buffer.concat([length, this.#query.bytes]));
  }

  onData(chunk: Buffer): void {
    if (this.#isOpen) this.#read(Buffer.from(chunk));
  }

  onEnd(): void {
    this.#end('unreachable');
  }
  onError(): void {
    this.#end('unreachable');
  }
  onClose(): void {
    this.#end('unreachable');
  }
  onDrain(): void {}

  #read(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#size += chunk.length;
    if (this.#expected === Infinity && this.#size >= LENGTH) this.#expected = LENGTH + Buffer.concat(this.#received).readUInt16BE(0);
    if (this.#size < this.#expected) return;
    this.#end(asReply(this.#query.check(Buffer.concat(this.#received).subarray(LENGTH, this.#expected))));
  }

  #end(end: ExchangeEnd): void {
    if (!this.#isOpen) return;
    this.close();
    this.onEndOf(end);
  }
}

function asReply(check: ReplyCheck): DnsReply | 'malformed' {
  return typeof check === 'string' ? 'malformed' : check;
}
