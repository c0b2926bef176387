import type { Bindings } from '../contract/affinity.js';
import type { UpstreamPeer } from '../contract/balancer.js';
import type { HttpRequest } from '../contract/http.js';
import type { RecordFields, Records } from '../contract/zones.js';

/** A longer session value is not a key. Bytes. */
const LONGEST_KEY = 1024;

type Field = 'member';
/** Of the records with the sessions. */
export const SESSION_FIELDS: readonly Field[] = ['member'];

/** The session that a request is of, or that its response begins; empty: none. */
export type SessionOf = (request: HttpRequest) => string;

/** Binds sessions to the members that have begun them, in a zone: `sticky learn`, `app_sticky`. */
export class LearnedSessions implements Bindings {
  readonly #peers = new Map<number, UpstreamPeer>();
  readonly #backups = new Set<UpstreamPeer>();
  readonly #found = { member: 0 };

  constructor(
    private readonly sessions: Records<Field>,
    private readonly created: SessionOf,
    private readonly lookup: SessionOf,
    /** True if a session begins with the header of a response, not with its end. */
    private readonly atHeader: boolean,
  ) {}

  find(request: HttpRequest): UpstreamPeer | undefined {
    return this.#boundTo(this.lookup(request));
  }

  responded(request: HttpRequest, peer: UpstreamPeer): void {
    if (this.atHeader) this.#learn(request, peer);
  }

  completed(request: HttpRequest, peer: UpstreamPeer): void {
    if (!this.atHeader) this.#learn(request, peer);
  }

  added(peer: UpstreamPeer): void {
    this.#peers.set(peer.id, peer);
    this.changed(peer);
  }

  changed(peer: UpstreamPeer): void {
    if (peer.backup) this.#backups.add(peer);
    else this.#backups.delete(peer);
  }

  removed(peer: UpstreamPeer): void {
    if (this.#peers.get(peer.id) === peer) this.#peers.delete(peer.id);
    this.#backups.delete(peer);
  }

  #learn(request: HttpRequest, peer: UpstreamPeer): void {
    const key = this.created(request);
    if (isKey(key)) this.sessions.update(key, store, peer);
    else if (this.#backups.size > 0 && !peer.backup) this.#leaveBackup(request, peer);
  }

  /** A session that began at a backup member stays at the primary that has it now. */
  #leaveBackup(request: HttpRequest, peer: UpstreamPeer): void {
    const key = this.lookup(request);
    if (this.#boundTo(key)?.backup === true) this.sessions.update(key, store, peer);
  }

  #boundTo(key: string): UpstreamPeer | undefined {
    if (!isKey(key)) return undefined;
    this.#found.member = 0;
    this.sessions.update(key, touch, this.#found);
    return this.#found.member === 0 ? undefined : this.#peers.get(this.#found.member - 1);
  }
}

const isKey = (key: string): boolean => key !== '' && key.length <= LONGEST_KEY;

/** A session that is used lives on. */
function touch(fields: RecordFields<Field>, found: { member: number }): boolean {
  found.member = fields.member;
  return fields.member !== 0;
}

function store(fields: RecordFields<Field>, { id }: UpstreamPeer): boolean {
  fields.member = id + 1;
  return true;
}
