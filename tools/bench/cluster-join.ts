/** How long a node takes to join others: whole servers with their API, over a redis-server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../demo/until.js';
import { fillPairs } from './cluster-pairs.js';
import { CLUSTER, withRedis } from './cluster-redis.js';
import { freePorts } from './ports.js';
import type { Processes } from './processes.js';
import { srvEntry } from './servers.js';

export interface Join {
  /** Milliseconds until the first node serves, which has nothing to take over. */
  readonly first: number;
  /** Milliseconds until the node that joins serves the last pair and all members. */
  readonly joined: number;
}

const SERVERS = '/api/v1/upstream_api/http/upstreams/shop/servers/';

/** @param keys pairs that the others have @param members members that the API has added to an upstream of the others */
export function measureJoin(processes: Processes, keys: number, members: number): Promise<Join> {
  return withRedis(async ({ port: redisPort, folder }) => {
    const ports = await freePorts(4);
    const node = (name: string, at: number): JoiningNode =>
      new JoiningNode(name, join(folder, name), { redis: redisPort, web: ports[at] ?? 0, api: ports[at + 1] ?? 0 });
    const [a, b] = [node('a', 0), node('b', 2)];
    const first = await a.start(processes, '');
    await fillPairs(redisPort, folder, keys);
    const servers = Array.from({ length: members }, (_, n) => ({ server: `127.${128 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}:1` }));
    await a.call('PUT', SERVERS, servers);
    await a.call('PUT', '/api/v1/kv/keys/last', { value: 'there' });
    const joined = await b.start(processes, 'there');
    const found = (await b.call('GET', SERVERS)) as readonly unknown[];
    if (found.length !== members) throw new Error(`node b has ${found.length} of ${members} members`);
    await Promise.all([a.stop(processes), b.stop(processes)]);
    return { first, joined };
  });
}

interface Ports {
  readonly redis: number;
  readonly web: number;
  readonly api: number;
}

class JoiningNode {
  #started: ReturnType<Processes['start']> | undefined;

  constructor(
    private readonly name: string,
    private readonly folder: string,
    private readonly ports: Ports,
  ) {
    mkdirSync(join(folder, 'conf'), { recursive: true });
    for (const [file, text] of Object.entries(this.#files())) writeFileSync(join(folder, 'conf', file), text);
  }

  /** @returns the milliseconds until a response is the value of the last key */
  start(processes: Processes, last: string): Promise<number> {
    const started = processes.start([process.execPath, srvEntry, '-p', this.folder, '-c', 'conf/srv.conf']);
    this.#started = started;
    return until(`node ${this.name}`, async () => {
      if (started.child.exitCode !== null) throw new Error(`node ${this.name} has ended: ${started.output().trim()}`);
      const response = await fetch(`http://127.0.0.1:${this.ports.web}/last`).catch(() => undefined);
      return (await response?.text()) === last;
    });
  }

  async stop(processes: Processes): Promise<void> {
    if (this.#started !== undefined) await processes.stop(this.#started);
  }

  /** A call of its API, which may not be there yet. */
  async call(method: string, path: string, body?: object): Promise<unknown> {
    let text = '';
    const init = body === undefined ? { method } : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    await until(`${method} ${path} at node ${this.name}`, async () => {
      const response = await fetch(`http://127.0.0.1:${this.ports.api}${path}`, init).catch(() => undefined);
      text = (await response?.text()) ?? '';
      if (response !== undefined && response.status !== 503 && !response.ok) throw new Error(`${method} ${path}: ${text}`);
      return response?.ok === true;
    });
    return text === '' ? undefined : JSON.parse(text);
  }

  #files(): Readonly<Record<string, string>> {
    const { redis, web, api } = this.ports;
    return {
      'srv.conf': `
        load_module modules/srv_redis_module.js;
        include conf/api.conf;
        cluster_name ${CLUSTER};
        node_name ${this.name};
        redis main { url redis://127.0.0.1:${redis}; }
        cluster_changes redis main;
        daemon off;
        worker_processes 1;
        error_log logs/error.log notice;
        events {}
        http {
          access_log off;
          dyn_kv_conf conf/kv.conf;
          upstream shop { zone shop 64m; server 127.0.0.1:1; }
          server { listen 127.0.0.1:${web} node=web; location = /last { return 200 "$kv_http_last"; } }
        }
        stream {}`,
      'kv.conf': 'store redis main;\nmax_size 256m;\n',
      'srv_ctrl.conf': `
        include conf/api_control.conf;
        error_log logs/ctrl.log notice;
        events {}
        http { access_log off; server { listen 127.0.0.1:${api}; location /api { dyn_module_api; } } }`,
    };
  }
}
