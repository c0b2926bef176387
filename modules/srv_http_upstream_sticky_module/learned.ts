import type { Bindings } from '../../core/module/affinity.js';
import type { UpstreamPeer } from '../../core/module/balancer.js';
import type { HttpRequest, Template } from '../../core/module/http.js';
import type { Fields, Records } from '../../core/module/zones.js';

/** A longer session value is no key. Bytes. */
const LONGEST_KEY = 1024;

type Field = 'member';
export const FIELDS: readonly Field[] = ['member'];
export type Sessions = Records<Field>;

/** `sticky learn`: the members that sessions began at, in a zone. */
export class Learned implements Bindings {
  readonly #peers = new Map<number, UpstreamPeer>();
  readonly #found = { member: 0 };

  constructor(
    private readonly sessions: Sessions,
    private readonly created: Template,
    private readonly lookup: Template,
    /** Whether a session begins with the header of a response, not with its end. */
    private readonly atHeader: boolean,
  ) {}

  find(request: HttpRequest): UpstreamPeer | undefined {
    const key = this.lookup.of(request);
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
    const key = this.created.of(request);
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
