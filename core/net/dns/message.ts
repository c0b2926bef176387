import { randomBytes, randomInt } from 'node:crypto';
import { Packet, type Resource } from 'dns2';
import { RecordType, type Question, type DnsReply } from './records.js';

const CLASS_IN = 1;
const NXDOMAIN = 3;
const SUCCESS = 0;

/**
 * Relation of a message to a query: its reply; `unrelated`, perhaps from another sender; `respelled`: its question differs in upper and
 * lower case; `truncated`: to be asked for over TCP.
 */
export type ReplyCheck = DnsReply | 'unrelated' | 'respelled' | 'truncated' | 'malformed';

/** A time to live with its highest bit set counts as none (RFC 2181, 8); dns2 reads it as this. Seconds. */
const ENDLESS = 2 ** 31 - 1;

/** Reads that decoding a message may cost: as many as 64 KB of addresses of the longest name. Compression pointers could make it cost seconds. */
const FREE_READS = 1024;
const READS_PER_BYTE = 20;

/** Reads whole bytes at once, which dns2 composes of bits, and ends the decoding of a message that costs too much. */
class BoundedReader extends Packet.Reader {
  #left: number;

  constructor(message: Buffer) {
    super(message);
    this.#left = FREE_READS + READS_PER_BYTE * message.length;
  }

  override read(bits: number): number {
    if (--this.#left < 0) throw new RangeError('the names of the message are too long');
    if (bits % 8 !== 0 || this.offset % 8 !== 0) return super.read(bits);
    const value = this.buffer.readUIntBE(this.offset / 8, bits / 8);
    this.offset += bits;
    return value;
  }
}

/**
 * A query as it is sent. The format of messages is that of dns2; its clients are not used: they ask a public server by default,
 * do not retry, send from one port, and take a reply whose question is another one.
 *
 * A forged reply has to guess the id, the port, and which letters of the name are capitals (RFC 5452; draft-vixie-dnsext-dns0x20).
 */
export class SentQuery {
  readonly bytes: Buffer;
  readonly #id = randomInt(0x1_0000);
  readonly #name: string;

  constructor(
    private readonly question: Question,
    private readonly spelling: 'as it is' | 'in mixed case',
  ) {
    this.#name = spelling === 'as it is' ? question.name : inMixedCase(question.name);
    const packet = new Packet();
    packet.header = new Packet.Header({ id: this.#id, rd: 1 });
    packet.questions.push(new Packet.Question(this.#name, question.type, CLASS_IN));
    this.bytes = packet.toBuffer();
  }

  check(message: Buffer): ReplyCheck {
    const reader = new BoundedReader(message);
    let head: ReturnType<typeof Packet.Header.parse>;
    try {
      head = Packet.Header.parse(reader);
      if (head.id !== this.#id || head.qr !== 1 || head.opcode !== 0) return 'unrelated';
      // Servers that cannot read a query leave the question out.
      if (head.qdcount === 0 && head.rcode !== SUCCESS && head.rcode !== NXDOMAIN) return failure(head.rcode);
      const other = head.qdcount === 1 ? this.#compare(Packet.Question.parse(reader)) : 'unrelated';
      if (other !== undefined) return other;
    } catch {
      return 'unrelated';
    }
    if (head.tc === 1) return 'truncated';
    if (head.rcode !== SUCCESS && head.rcode !== NXDOMAIN) return failure(head.rcode);
    try {
      const answers = records(reader, head.ancount);
      return { rcode: head.rcode, answers, negativeTtl: negativeTtl(reader, head.nscount) };
    } catch {
      return 'malformed';
    }
  }

  #compare(question: { readonly name: string; readonly type: number; readonly class: number }): 'unrelated' | 'respelled' | undefined {
    if (question.type !== this.question.type || question.class !== CLASS_IN) return 'unrelated';
    if (question.name === this.#name) return undefined;
    if (question.name.toLowerCase() !== this.question.name) return 'unrelated';
    return this.spelling === 'as it is' ? undefined : 'respelled';
  }
}

function failure(rcode: number): DnsReply {
  return { rcode, answers: [], negativeTtl: undefined };
}

/** Records of class IN. @throws Error for a malformed one */
function records(reader: BoundedReader, count: number): readonly Resource[] {
  const found: Resource[] = [];
  for (let i = 0; i < count; i++) {
    const record = Packet.Resource.parse(reader);
    if (record.ttl >= ENDLESS) record.ttl = 0;
    if (record.class === CLASS_IN) found.push(record);
  }
  return found;
}

/** That of the SOA record among the authorities. */
function negativeTtl(reader: BoundedReader, count: number): number | undefined {
  try {
    const soa = records(reader, count).find(({ type }) => type === RecordType.SOA);
    return soa?.minimum === undefined ? undefined : Math.min(soa.ttl, soa.minimum);
  } catch {
    return undefined;
  }
}

/** Each letter by chance a capital. @param name in lower case */
function inMixedCase(name: string): string {
  const chance = randomBytes(name.length);
  return Array.from(name, (letter, at) => (chance[at]! % 2 === 0 ? letter : letter.toUpperCase())).join('');
}
