import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Processes, Started } from '../bench/processes.js';
import { srvEntry } from '../bench/servers.js';
import { until } from './until.js';

/** Settings that all nodes of the demo share. */
export interface Common {
  readonly processes: Processes;
  /** Folder in which each node has its own. */
  readonly folder: string;
  readonly redisPort: number;
  readonly backendPort: number;
  readonly captchaSecret: string;
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One of several nodes: a server with its API, on ports of the loopback interface. */
export class DemoNode {
  #started: Started | undefined;

  constructor(
    readonly name: string,
    readonly port: number,
    private readonly apiPort: number,
    private readonly common: Common,
  ) {
    const conf = join(this.folder, 'conf');
    mkdirSync(conf, { recursive: true });
    for (const [file, text] of Object.entries(this.#files())) writeFileSync(join(conf, file), text);
  }

  get folder(): string {
    return join(this.common.folder, this.name);
  }

  get text(): string {
    return `node ${this.name}: http://127.0.0.1:${this.port}/, its API http://127.0.0.1:${this.apiPort}/api/v1/`;
  }

  /** Resolves when its API responds. */
  async start(): Promise<void> {
    const started = this.common.processes.start([process.execPath, srvEntry, '-p', this.folder, '-c', 'conf/srv.conf']);
    this.#started = started;
    await until(`node ${this.name}`, () => {
      if (started.child.exitCode !== null) throw new Error(`node ${this.name} has ended: ${started.output().trim()}`);
      return this.call('GET', '/cluster').then(
        ({ status }) => status === 200,
        () => false,
      );
    });
  }

  /** Ends it, with SIGKILL as a power failure would. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const started = this.#started;
    this.#started = undefined;
    if (started !== undefined) await this.common.processes.stop(started, signal);
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return ask(this.port, path, { headers });
  }

  /** Sends the fields of a form. */
  post(path: string, fields: Readonly<Record<string, string>>): Promise<Reply> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return ask(this.port, path, { method: 'POST', headers, body: new URLSearchParams(fields).toString() });
  }

  /** A call of its API. */
  call(method: string, path: string, body?: object): Promise<Reply> {
    const content = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return ask(this.apiPort, `/api/v1${path}`, { method, ...content });
  }

  #files(): Readonly<Record<string, string>> {
    const { redisPort, backendPort, captchaSecret } = this.common;
    return {
      'srv.conf': `
        load_module modules/srv_redis_module.js;
        include conf/api.conf;
        cluster_name demo;
        node_name ${this.name};
        redis main { url redis://127.0.0.1:${redisPort}; }
        cluster_changes redis main;
        zone_sync_interval 50ms;
        daemon off;
        worker_processes 1;
        shared_slab_pool_size 4m;
        error_log logs/error.log notice;
        events {}
        http {
          access_log off;
          dyn_kv_conf conf/kv.conf;
          captcha_zone $binary_remote_addr zone=clients:1m sync;
          captcha_session_zone sessions 1m sync;
          captcha_secret ${captchaSecret};
          server {
            listen 127.0.0.1:${this.port} node=web;
            location = /color { return 200 "$kv_http_color"; }
            location ~ ^/to/(?<name>\\w+)$ { proxy_pass http://$name; }
            location = /guarded {
              captcha on;
              captcha_limit_rate clients 5;
              captcha_mode pow;
              proxy_pass http://127.0.0.1:${backendPort};
            }
          }
        }
        stream {}`,
      'kv.conf': 'store redis main;\n',
      'srv_ctrl.conf': `
        include conf/api_control.conf;
        error_log logs/ctrl.log notice;
        events {}
        http {
          access_log off;
          server { listen 127.0.0.1:${this.apiPort}; location /api { dyn_module_api; } }
        }`,
    };
  }
}

function ask(port: number, path: string, { method = 'GET', headers = {}, body }: Asking): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
