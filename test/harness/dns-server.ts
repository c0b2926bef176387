/** A DNS server whose records, failures and false replies a test changes while it runs. UDP and TCP on one free port of the loopback. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Packet, type Question, type Resource } from 'dns2';
import type { Scope } from './scope.js';

const { A, AAAA, CNAME, SOA, SRV } = Packet.TYPE;
const IN = 1;
const { NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED } = Packet.RCODE;
const FAILURES = { formerr: FORMERR, servfail: SERVFAIL, nxdomain: NXDOMAIN, notimp: NOTIMP, refused: REFUSED } as const;
const TYPES: ReadonlyMap<number, QueryType> = new Map([
  [A, 'A'],
  [AAAA, 'AAAA'],
  [SRV, 'SRV'],
]);

export type QueryType = 'A' | 'AAAA' | 'SRV' | 'other';
/** `silent`: there is no reply. */
export type DnsFailure = keyof typeof FAILURES | 'silent';

export interface DnsQuery {
  /** In lower case. */
  readonly name: string;
  /** As it was sent. */
  readonly spelling: string;
  readonly type: QueryType;
  readonly transport: 'udp' | 'tcp';
  /** That the client sent it from. */
  readonly port: number;
  readonly id: number;
}

/** An SRV record; what is missing is 0. */
export interface Service {
  readonly target: string;
  readonly port: number;
  readonly priority?: number;
  readonly weight?: number;
}

/** @param port when a certain one is needed, for example to come back after {@link DnsServer.close} */
export async function dnsServer(t: Scope, port = 0, host = '127.0.0.1'): Promise<DnsServer> {
  const server = await opened(port, host);
  t.teardown(() => server.close());
  return server;
}

type StoredRecord = Partial<Resource> & { readonly type: number; readonly ttl: number };

export class DnsServer {
  /** All that came, in order. */
  readonly queries: DnsQuery[] = [];
  /** Milliseconds before each reply. */
  delay = 0;
  /** Replies over UDP are empty and say that they are truncated. */
  truncate = false;
  /** Seconds in the SOA record of replies that say that there is nothing; undefined: they have none. */
  negativeTtl: number | undefined = 1;
  /** True if aliases are followed here, or left to the client. */
  followsAliases = true;
  /** Changes the bytes of a reply; undefined: it is not sent. Several: all are sent. */
  lie: ((reply: Buffer, query: Buffer) => Buffer | readonly Buffer[] | undefined) | undefined = undefined;
  readonly #names = new Map<string, StoredRecord[]>();
  readonly #failures = new Map<string, DnsFailure>();
  readonly #sockets = new Set<Socket>();

  constructor(
    private readonly datagrams: DatagramSocket,
    private readonly streams: Server,
  ) {
    datagrams.on('message', (bytes, from) => void this.#onDatagram(bytes, from.port, from.address));
    streams.on('connection', (socket) => this.#onConnection(socket));
  }

  get port(): number {
    return (this.streams.address() as AddressInfo).port;
  }

  /** Replaces the IPv4 addresses of a name, which exists from now on. */
  a(name: string, addresses: readonly string[], ttl = 60): void {
    this.#replace(
      name,
      A,
      addresses.map((address) => ({ type: A, ttl, address })),
    );
  }

  aaaa(name: string, addresses: readonly string[], ttl = 60): void {
    this.#replace(
      name,
      AAAA,
      addresses.map((address) => ({ type: AAAA, ttl, address })),
    );
  }

  cname(name: string, target: string, ttl = 60): void {
    this.#replace(name, CNAME, [{ type: CNAME, ttl, domain: target }]);
  }

  srv(name: string, services: readonly Service[], ttl = 60): void {
    this.#replace(
      name,
      SRV,
      services.map((service) => ({ type: SRV, ttl, priority: 0, weight: 0, ...service })),
    );
  }

  /** There is no such name any more. */
  remove(name: string): void {
    this.#names.delete(name.toLowerCase());
  }

  /** @param name `*`: all names */
  fail(name: string, failure: DnsFailure): void {
    this.#failures.set(name.toLowerCase(), failure);
  }

  heal(name: string): void {
    this.#failures.delete(name.toLowerCase());
  }

  count(name: string, type?: QueryType): number {
    return this.queries.filter((query) => query.name === name && (type === undefined || query.type === type)).length;
  }

  /** Nothing listens any more: ICMP says so. */
  async close(): Promise<void> {
    if (!this.streams.listening) return;
    for (const socket of this.#sockets) socket.destroy();
    this.datagrams.close();
    this.streams.close();
    await once(this.streams, 'close');
  }

  #replace(name: string, type: number, records: readonly StoredRecord[]): void {
    const key = name.toLowerCase();
    const others = (this.#names.get(key) ?? []).filter((record) => record.type !== type);
    this.#names.set(key, [...others, ...records]);
  }

  async #onDatagram(bytes: Buffer, port: number, address: string): Promise<void> {
    for (const reply of await this.#replies(bytes, 'udp', port)) this.datagrams.send(reply, port, address, () => undefined);
  }

  #onConnection(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) void this.#onStream(socket, received.subarray(2));
    });
  }

  async #onStream(socket: Socket, bytes: Buffer): Promise<void> {
    for (const reply of await this.#replies(bytes, 'tcp', socket.remotePort ?? 0)) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([length, reply]));
    }
  }

  /** None after {@link close}, which may have come in between. */
  async #replies(bytes: Buffer, transport: 'udp' | 'tcp', port: number): Promise<readonly Buffer[]> {
    const query = Packet.parse(bytes);
    const [question] = query.questions;
    if (question === undefined) return [];
    const name = question.name.toLowerCase();
    const type = TYPES.get(question.type) ?? 'other';
    this.queries.push({ name, spelling: question.name, type, transport, port, id: query.header.id });
    const failure = this.#failures.get(name) ?? this.#failures.get('*');
    if (failure === 'silent') return [];
    if (this.delay > 0) await sleep(this.delay);
    const reply = this.#reply(query.header.id, question, failure, transport).toBuffer();
    const sent = this.lie === undefined ? reply : this.lie(reply, bytes);
    if (sent === undefined || !this.streams.listening) return [];
    return Buffer.isBuffer(sent) ? [sent] : sent;
  }

  #reply(id: number, question: Question, failure: keyof typeof FAILURES | undefined, transport: 'udp' | 'tcp'): Packet {
    const reply = new Packet();
    reply.questions = [question];
    reply.header = new Packet.Header({ id, qr: 1, rd: 1, ra: 1, rcode: failure === undefined ? NOERROR : FAILURES[failure] });
    if (this.truncate && transport === 'udp') reply.header.tc = 1;
    else if (failure === undefined) this.#answer(reply, question);
    return reply;
  }

  #answer(reply: Packet, { name, type }: Question): void {
    let owner = name;
    for (;;) {
      const records = this.#names.get(owner.toLowerCase());
      if (records === undefined) reply.header.rcode = NXDOMAIN;
      const found = records?.filter((record) => record.type === type) ?? [];
      const alias = found.length > 0 ? undefined : records?.find((record) => record.type === CNAME);
      for (const record of alias === undefined ? found : [alias]) reply.answers.push(resource(owner, record));
      if (alias?.domain === undefined || !this.followsAliases || reply.answers.length > 50) break;
      owner = alias.domain;
    }
    const minimum = this.negativeTtl;
    if (minimum === undefined || reply.answers.some((record) => record.type === type || !this.followsAliases)) return;
    const times = { serial: 1, refresh: 60, retry: 60, expiration: 60, minimum };
    reply.authorities.push(resource('test', { type: SOA, ttl: minimum, primary: 'ns.test', admin: 'admin.test', ...times }));
  }
}

function resource(name: string, record: StoredRecord): Resource {
  return new Packet.Resource({ name, class: IN, ...record });
}

async function opened(port: number, host: string): Promise<DnsServer> {
  for (let attempt = 1; ; attempt++) {
    const streams = createServer();
    streams.listen(port, host);
    await once(streams, 'listening');
    const datagrams = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    try {
      datagrams.bind((streams.address() as AddressInfo).port, host);
      await once(datagrams, 'listening');
      return new DnsServer(datagrams, streams);
    } catch (error) {
      // The port is free for TCP, and another process has it for UDP.
      datagrams.close();
      streams.close();
      if (port !== 0 || attempt === 10) throw error;
    }
  }
}
