import { startSrv, type Srv } from '../harness/srv.js';
import { get, json, type JsonResponse } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';

/** Addresses of Redis, in a `redis` block. */
export type RedisLines = string;

interface View {
  readonly version: number;
  readonly nodes: readonly { readonly name: string; readonly state: string; readonly version: number }[];
}

/** A whole node that can be killed, paused and started again, on the same ports and with the same files. */
export class ChaosNode {
  #srv: Srv | undefined;
  #isPaused = false;
  #prefix: string | undefined;

  private constructor(
    private readonly t: Scope,
    readonly name: string,
    readonly webPort: number,
    readonly apiPort: number,
    private readonly redis: RedisLines,
    private readonly kv: string,
    private readonly main: string,
  ) {}

  static async start(t: Scope, name: string, redis: RedisLines, kv: string, main = ''): Promise<ChaosNode> {
    const node = new ChaosNode(t, name, await freePort(t), await freePort(t), redis, kv, main);
    await node.start();
    return node;
  }

  /** Requests have to be responded to. */
  get serves(): boolean {
    return this.#srv !== undefined && !this.#isPaused;
  }

  async start(): Promise<void> {
    const prefix = this.#prefix;
    const srv = await startSrv(this.t, this.#conf(), { files: this.#files(), allowCrashes: true, ...(prefix !== undefined && { prefix }) });
    this.#prefix = srv.prefix;
    await waitFor('the API', () =>
      this.call('GET', '/cluster').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    this.#srv = srv;
  }

  /** As a power failure would. */
  async kill(): Promise<void> {
    const srv = this.#srv;
    this.#srv = undefined;
    if (srv === undefined) return;
    process.kill(-srv.pid, 'SIGKILL');
    await srv.exited;
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#srv !== undefined) process.kill(-this.#srv.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.#srv !== undefined) process.kill(-this.#srv.pid, 'SIGCONT');
    this.#isPaused = false;
  }

  /** With everything that is under way. */
  async stop(): Promise<void> {
    const srv = this.#srv;
    this.#srv = undefined;
    await srv?.stop();
  }

  call(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<JsonResponse> {
    return json(this.apiPort, method, `/api/v1${path}`, body, headers);
  }

  web(): ReturnType<typeof get> {
    return get(this.webPort, '/');
  }

  log(): string {
    return this.#srv?.log() ?? '';
  }

  /** All pairs. */
  async pairs(): Promise<Map<string, string>> {
    const pairs = new Map<string, string>();
    for (let path = '/kv?limit=1000'; ;) {
      const page = await this.call('GET', path);
      const found = page.json as readonly { readonly key: string; readonly value: string }[];
      for (const { key, value } of found) pairs.set(key, value);
      const [, next] = /<[^>]*?\/api\/v1([^>]+)>/.exec(String(page.headers['link'] ?? '')) ?? [];
      if (next === undefined) return pairs;
      path = next;
    }
  }

  /** Addresses of the members of `demo`. */
  async members(): Promise<string[]> {
    const { json: members } = await this.call('GET', '/upstream_api/http/upstreams/demo/servers/');
    return (members as readonly { readonly id: number; readonly server: string }[]).map(({ id, server }) => `${id} ${server}`);
  }

  async view(): Promise<View> {
    return (await this.call('GET', '/cluster')).json as View;
  }

  #conf(): string {
    return `
      worker_processes 1;
      error_log logs/error.log notice;
      load_module modules/srv_redis_module.js; node_name ${this.name}; cluster_name shop;
      redis main { ${this.redis} }
      cluster_changes redis main; ${this.main}
      load_module modules/srv_http_upstream_member_module.so;
      load_module modules/srv_cluster_module.so;
      helper broker modules/srv_helper_broker_module.so conf/broker.conf;
      helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
      events {}
      http {
        access_log off;
        dyn_kv_conf conf/kv.conf;
        upstream demo { zone demo 2m; server 127.0.0.1:1; }
        server { listen 127.0.0.1:${this.webPort} node=web; location / { return 200 "$kv_http_color"; } }
      }`;
  }

  #files(): Readonly<Record<string, string>> {
    const control = `
      load_module modules/srv_http_upstream_api_module.so;
      load_module modules/srv_http_sendmsg_module.so;
      load_module modules/srv_cluster_api_module.so;
      error_log logs/ctrl.log notice;
      events {}
      http { access_log off; server { listen 127.0.0.1:${this.apiPort}; location /api { dyn_module_api; } } }`;
    return { 'conf/broker.conf': '', 'conf/ctrl.conf': control, 'conf/kv.conf': this.kv };
  }
}
