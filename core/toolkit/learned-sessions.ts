import type { Bindings } from '../contract/affinity.js';
import type { UpstreamPeer } from '../contract/balancer.js';
import type { HttpRequest } from '../contract/http.js';
import type { RecordFields, Records } from '../contract/zones.js';
import { murmurHash2 } from './murmur-hash2.js';

/** A longer session value is not a key. Bytes. */
const LONGEST_KEY = 1024;

type Field = 'member';
/** Of the records with the sessions. */
export const SESSION_FIELDS: readonly Field[] = ['member'];

/** The session that a request is of, or that its response begins; empty: none. */
export type SessionOf = (request: HttpRequest) => string;

export interface SessionOptions {
  /** True if a session begins with the header of a response, not with its end. */
  readonly atHeader: boolean;
  /** Between nodes, which have other ids for the same members: a session is bound to an address. */
  readonly isShared: boolean;
}

/** Binds sessions to the members that have begun them, in a zone: `sticky learn`, `app_sticky`. */
export class LearnedSessions implements Bindings {
  readonly #peers = new Map<number, UpstreamPeer>();
  readonly #backups = new Set<UpstreamPeer>();
  /** The member that was found, or is to be stored. */
  readonly #bound = { member: 0 };

  constructor(
    private readonly sessions: Records<Field>,
    private readonly created: SessionOf,
    private readonly lookup: SessionOf,
    private readonly options: SessionOptions,
  ) {}

  find(request: HttpRequest): UpstreamPeer | undefined {
    return this.#boundTo(this.lookup(request));
  }

  responded(request: HttpRequest, peer: UpstreamPeer): void {
    if (this.options.atHeader) this.#learn(request, peer);
  }

  completed(request: HttpRequest, peer: UpstreamPeer): void {
    if (!this.options.atHeader) this.#learn(request, peer);
  }

  added(peer: UpstreamPeer): void {
    this.#peers.set(this.#numberOf(peer), peer);
    this.changed(peer);
  }

  changed(peer: UpstreamPeer): void {
    if (peer.backup) this.#backups.add(peer);
    else this.#backups.delete(peer);
  }

  removed(peer: UpstreamPeer): void {
    const number = this.#numberOf(peer);
    if (this.#peers.get(number) === peer) this.#peers.delete(number);
    this.#backups.delete(peer);
  }

  #learn(request: HttpRequest, peer: UpstreamPeer): void {
    const key = this.created(request);
    if (isKey(key)) this.#store(key, peer);
    else if (this.#backups.size > 0 && !peer.backup) this.#leaveBackup(request, peer);
  }

  /** A session that began at a backup member stays at the primary that has it now. */
  #leaveBackup(request: HttpRequest, peer: UpstreamPeer): void {
    const key = this.lookup(request);
    if (this.#boundTo(key)?.backup === true) this.#store(key, peer);
  }

  #store(key: string, peer: UpstreamPeer): void {
    this.#bound.member = this.#numberOf(peer);
    this.sessions.update(key, store, this.#bound);
  }

  /** How a session names a member: above 0. */
  #numberOf({ id, server }: UpstreamPeer): number {
    return this.options.isShared ? addressNumber(server) : id + 1;
  }

  #boundTo(key: string): UpstreamPeer | undefined {
    if (!isKey(key)) return undefined;
    this.#bound.member = 0;
    this.sessions.update(key, touch, this.#bound);
    return this.#bound.member === 0 ? undefined : this.#peers.get(this.#bound.member);
  }
}

const isKey = (key: string): boolean => key !== '' && key.length <= LONGEST_KEY;

/** A session that is used lives on. */
function touch(fields: RecordFields<Field>, found: { member: number }): boolean {
  found.member = fields.member;
  return fields.member !== 0;
}

function store(fields: RecordFields<Field>, { member }: { readonly member: number }): boolean {
  fields.member = member;
  return true;
}

/** The same on all nodes. 52 bits. */
function addressNumber(server: string): number {
  return murmurHash2(server) * 2 ** 20 + (murmurHash2(`${server} `) & 0xf_ff_ff) + 1;
}
