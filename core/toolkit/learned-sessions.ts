import type { Bindings } from './affinity.js';
import type { UpstreamPeer } from './balancer.js';
import type { HttpRequest } from './http.js';
import type { Fields, Records } from './zones.js';

/** A longer session value is no key. Bytes. */
const LONGEST_KEY = 1024;

type Field = 'member';
/** Of the records with the sessions. */
export const SESSION_FIELDS: readonly Field[] = ['member'];

/** The session that a request is of, or that its response begins; empty: none. */
export type SessionOf = (request: HttpRequest) => string;

/** Binds sessions to the members that have begun them, in a zone: `sticky learn`, `app_sticky`. */
export class LearnedSessions implements Bindings {
  readonly #peers = new Map<number, UpstreamPeer>();
  readonly #found = { member: 0 };

  constructor(
    private readonly sessions: Records<Field>,
    private readonly created: SessionOf,
    private readonly lookup: SessionOf,
    /** Whether a session begins with the header of a response, not with its end. */
    private readonly atHeader: boolean,
  ) {}

  find(request: HttpRequest): UpstreamPeer | undefined {
    const key = this.lookup(request);
    if (!isKey(key)) return undefined;
    this.#found.member = 0;
    this.sessions.update(key, touch, this.#found);
    return this.#found.member === 0 ? undefined : this.#peers.get(this.#found.member - 1);
  }

  responded(request: HttpRequest, peer: UpstreamPeer): void {
    if (this.atHeader) this.#learn(request, peer);
  }

  completed(request: HttpRequest, peer: UpstreamPeer): void {
    if (!this.atHeader) this.#learn(request, peer);
  }

  added(peer: UpstreamPeer): void {
    this.#peers.set(peer.id, peer);
  }

  removed(peer: UpstreamPeer): void {
    if (this.#peers.get(peer.id) === peer) this.#peers.delete(peer.id);
  }

  #learn(request: HttpRequest, peer: UpstreamPeer): void {
    const key = this.created(request);
    if (isKey(key)) this.sessions.update(key, store, peer);
  }
}

const isKey = (key: string): boolean => key !== '' && key.length <= LONGEST_KEY;

/** A session that is used lives on. */
function touch(fields: Fields<Field>, found: { member: number }): boolean {
  found.member = fields.member;
  return fields.member !== 0;
}

function store(fields: Fields<Field>, { id }: UpstreamPeer): boolean {
  fields.member = id + 1;
  return true;
}
