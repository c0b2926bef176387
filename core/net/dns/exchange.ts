import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { connect, isIPv6, type Socket } from 'node:net';
import type { NameServer } from '../../toolkit/resolver.js';
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
export class DatagramExchange implements DnsExchange {
  readonly #socket: DatagramSocket;
  readonly #query: SentQuery;
  #isOpen = true;

  constructor(
    { address, port }: NameServer,
    question: Question,
    private readonly onEnd: (end: ExchangeEnd) => void,
    spelling: 'as it is' | 'in mixed case' = 'in mixed case',
  ) {
    this.#query = new SentQuery(question, spelling);
    this.#socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#socket.on('error', () => this.#end('unreachable'));
    this.#socket.on('message', (message) => {
      const check = this.#query.check(message);
      if (check !== 'unrelated') this.#end(check);
    });
    this.#socket.on('connect', () => this.#send());
    this.#socket.connect(port, address);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.close();
  }

  #send(): void {
    if (!this.#isOpen) return;
    this.#socket.send(this.#query.bytes, (error) => {
      if (error !== null) this.#end('unreachable');
    });
  }

  #end(end: ExchangeEnd): void {
    if (!this.#isOpen) return;
    this.close();
    this.onEnd(end);
  }
}

/** In the spelling of the question, for a server that changes upper and lower case. */
export class PlainExchange extends DatagramExchange {
  constructor(server: NameServer, question: Question, onEnd: (end: ExchangeEnd) => void) {
    super(server, question, onEnd, 'as it is');
  }
}

/** Bytes of the length in front of a message (RFC 1035, 4.2.2). */
const LENGTH = 2;

/** Over TCP, for replies that do not fit into a datagram. */
export class StreamExchange implements DnsExchange {
  readonly #socket: Socket;
  readonly #query: SentQuery;
  readonly #received: Buffer[] = [];
  #size = 0;
  /** Bytes of the reply with its length, once that is known. */
  #expected = Infinity;
  #isOpen = true;

  constructor(
    { address, port }: NameServer,
    question: Question,
    private readonly onEnd: (end: ExchangeEnd) => void,
  ) {
    this.#query = new SentQuery(question, 'as it is');
    const length = Buffer.alloc(LENGTH);
    length.writeUInt16BE(this.#query.bytes.length);
    this.#socket = connect(port, address);
    this.#socket.on('error', () => this.#end('unreachable'));
    this.#socket.on('close', () => this.#end('unreachable'));
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.write(Buffer.concat([length, this.#query.bytes]));
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.destroy();
  }

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
    this.onEnd(end);
  }
}

function asReply(check: ReplyCheck): DnsReply | 'malformed' {
  return typeof check === 'string' ? 'malformed' : check;
}
