/** Random changes of one site: calls of the API that are likely, not certain, to find what they are about. */

export interface RandomCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface RandomPlace {
  /** Address and port that the server listens on. */
  readonly address: string;
  readonly upstream: string;
}

const LOCATIONS = ['/p', '/q', '/r'];
const FIELDS = ['A 1', 'B 2', 'A 3', 'C 4'];

/** The same calls for the same seed (a linear congruential generator). */
export class RandomChanges {
  #state: number;

  constructor(
    seed: number,
    private readonly place: RandomPlace,
  ) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  call(): RandomCall {
    const calls = [
      () => this.#member(),
      () => this.#member(),
      () => this.#added(),
      () => this.#patched(),
      () => this.#removed(),
      () => this.#settings(),
      () => this.#settings(),
    ];
    return this.#one(calls)();
  }

  #one<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  #some<T>(items: readonly T[]): T[] {
    return items.map(() => this.#one(items)).slice(this.below(items.length));
  }

  #member(): RandomCall {
    const list = `/upstream_api/http/upstreams/${this.place.upstream}/servers`;
    const id = this.below(6);
    if (this.below(3) === 0) return { method: 'POST', path: list, body: { server: `10.0.0.${this.below(3)}` } };
    if (this.below(2) === 0) return { method: 'PATCH', path: `${list}/${id}`, body: { weight: 1 + this.below(3) } };
    return { method: 'DELETE', path: `${list}/${id}` };
  }

  #location() {
    const fields = this.#some(FIELDS).map((field) => `add_header ${field};`);
    return { location_rule: '', location_name: this.#one(LOCATIONS), location_body: fields.join(' '), proxy_pass: this.#target() };
  }

  #target(): string {
    return `http://${this.place.upstream}/${this.below(4)}`;
  }

  #added(): RandomCall {
    return { method: 'POST', path: '/dyn_loc', body: { addr_port: this.place.address, locations: [this.#location()] } };
  }

  #patched(): RandomCall {
    return { method: 'PATCH', path: '/dyn_loc?force=1', body: { addr_port: this.place.address, ...this.#location() } };
  }

  #removed(): RandomCall {
    const body = { type: 'del', addr_port: this.place.address, location_rule: '', location_name: this.#one(LOCATIONS) };
    return { method: 'PUT', path: '/dyn_loc?force=1', body };
  }

  #settings(): RandomCall {
    const location = this.#one(LOCATIONS);
    const put = (key: string, fields: object): RandomCall => ({
      method: 'PUT',
      path: `/config/${key}`,
      body: { servers: [{ listens: [this.place.address], locations: [{ location, ...fields }] }] },
    });
    if (this.below(2) === 0) return put('proxy_pass', { proxy_pass: this.#target() });
    return put('http_dyn_header', { headers: this.#some(FIELDS).map((field) => ({ key: field.slice(0, 1), value: field.slice(2) })) });
  }
}
