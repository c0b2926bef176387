/** What clients of NGINX Plus send: the calls of its public Go client, with which its Kubernetes controller and its Prometheus exporter work. */
import { isDeepStrictEqual } from 'node:util';
import { json, type JsonResponse } from '../harness/client.js';

/** A server as the client marshals it: without what is not set. */
export interface PlusServer {
  readonly server: string;
  readonly id?: number;
  readonly weight?: number;
  readonly max_conns?: number;
  readonly max_fails?: number;
  readonly fail_timeout?: string;
  readonly slow_start?: string;
  readonly route?: string;
  readonly backup?: boolean;
  readonly down?: boolean;
  readonly drain?: boolean;
  readonly service?: string;
}

/** What the client takes for granted of a server that does not say otherwise. */
const DEFAULTS = {
  weight: 1,
  max_conns: 0,
  max_fails: 1,
  fail_timeout: '10s',
  slow_start: '0s',
  route: '',
  backup: false,
  down: false,
  drain: false,
  service: '',
};

export class PlusClient {
  /** Calls that change something, in order. */
  readonly writes: string[] = [];

  constructor(private readonly port: number) {}

  async get<T>(path: string): Promise<T> {
    const { status, json: body } = await json(this.port, 'GET', `/api/9/${path}`);
    if (status !== 200) throw new Error(`GET ${path}: ${status}`);
    return body as T;
  }

  /** Adds, removes and changes servers until the upstream has these. The order is that of the Go client. */
  async updateServers(upstream: string, wanted: readonly PlusServer[]): Promise<void> {
    const there = await this.get<PlusServer[]>(`http/upstreams/${upstream}/servers`);
    const servers = wanted.map((server) => ({ ...server, server: withPort(server.server) }));
    const path = `http/upstreams/${upstream}/servers/`;
    const same = (one: PlusServer) => there.find(({ server }) => server === one.server);
    for (const server of servers) if (same(server) === undefined) await this.#write('POST', path, 201, server);
    for (const { server, id } of there)
      if (!servers.some((one) => one.server === server)) await this.#write('DELETE', `${path}${id}/`, 200);
    for (const server of servers) {
      const old = same(server);
      if (old !== undefined && !isEqual(server, old)) await this.#write('PATCH', `${path}${old.id}/`, 200, server);
    }
  }

  async #write(method: string, path: string, expected: number, body?: unknown): Promise<JsonResponse> {
    this.writes.push(`${method} ${path}`);
    const answer = await json(this.port, method, `/api/9/${path}`, body);
    if (answer.status !== expected) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer;
  }
}

function withPort(server: string): string {
  return /^[^:]*:\d+$|\]:\d+$|^unix:/.test(server) ? server : `${server}:80`;
}

function isEqual(one: PlusServer, other: PlusServer): boolean {
  const [first, second] = [one, other].map(({ id: _id, ...server }) => ({ ...DEFAULTS, ...server }));
  return isDeepStrictEqual(first, second);
}
