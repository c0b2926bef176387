import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { json, type JsonResponse } from '../harness/client.js';
import { guard } from '../harness/guard.js';
import { SRV } from '../harness/srv.js';
import { writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import type { Listed, Member } from './ledger.js';
import { GROUPS, NoResponse, type Group, type Target } from './target.js';

/** A whole server with its helpers, changed through its API. */
export class NodeTarget implements Target {
  #child: ChildProcess | undefined;
  #gone: Promise<unknown> = Promise.resolve();

  /** @param folder the prefix */
  constructor(
    readonly folder: string,
    web: number,
    private readonly api: number,
  ) {
    const [plain, ...kept] = GROUPS;
    const groups = kept.map((name) => `upstream ${name} { zone ${name} 64k; state ${name}.state; }`).join('\n');
    writeInto(folder, 'conf/broker.conf', '');
    writeInto(folder, 'conf/ctrl.conf', controlConf(api));
    writeInto(
      folder,
      'conf/srv.conf',
      `worker_processes 1; daemon off; error_log logs/error.log notice;
       load_module modules/srv_http_upstream_member_module.so;
       helper broker modules/srv_helper_broker_module.so conf/broker.conf;
       helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
       events {}
       http { upstream ${plain} { zone ${plain} 64k; server 127.0.0.9:1; } ${groups} server { listen 127.0.0.1:${web}; return 204; } }`,
    );
    writeInto(folder, 'logs/error.log', '');
  }

  start(): { ready: Promise<void>; gone: Promise<void> } {
    rmSync(join(this.folder, 'logs/error.log'), { force: true });
    const child = spawn(process.execPath, [SRV, '-p', this.folder, '-c', 'conf/srv.conf'], { detached: true, stdio: 'ignore' });
    this.#child = child;
    if (child.pid !== undefined) guard.watch(child.pid);
    const gone = once(child, 'close').then(() => undefined);
    this.#gone = gone;
    const ready = waitFor('the API', () => this.#isReady(child), 120_000).then(() => undefined);
    ready.catch(() => undefined);
    return { ready, gone };
  }

  async list(group: Group): Promise<Listed[]> {
    const { json: members } = await this.#call('GET', `/${group}/servers/`);
    const all = members as { id: number; server: string; weight: number; max_conns: number }[];
    return all
      .filter(({ server }) => server !== '127.0.0.9:1')
      .map(({ id, server, weight, max_conns: tag }) => ({ id, server, weight, tag }));
  }

  async add(group: Group, { server, weight, tag }: Member): Promise<number> {
    const { json: made } = await this.#call('POST', `/${group}/servers/`, { server, weight, max_conns: tag });
    return (made as { id: number }).id;
  }

  async change(group: Group, id: number, before: Member, after: Member): Promise<void> {
    const { server, weight } = after;
    await this.#call('PATCH', `/${group}/servers/${id}`, before.server === server ? { weight } : { server });
  }

  async remove(group: Group, id: number): Promise<void> {
    await this.#call('DELETE', `/${group}/servers/${id}`);
  }

  reload(): void {
    this.#child?.kill('SIGHUP');
  }

  quit(): void {
    this.#child?.kill('SIGQUIT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    child.kill('SIGKILL');
    await this.#gone;
    // Helpers see that their master is gone, and end.
    const group = -child.pid;
    await waitFor('the end of the helpers', () => !isAlive(group));
    guard.forget(child.pid);
  }

  log(): string {
    const path = join(this.folder, 'logs/error.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  async #isReady(child: ChildProcess): Promise<boolean> {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the server ended before it was ready');
    return json(this.api, 'GET', '/api/v1/upstream_api/http/upstreams/').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async #call(method: string, path: string, body?: unknown): Promise<JsonResponse> {
    const answer = await json(this.api, method, `/api/v1/upstream_api/http/upstreams${path}`, body).catch((error: unknown) => {
      throw new NoResponse(String(error));
    });
    if (answer.status === 503) throw new NoResponse(answer.body);
    if (answer.status >= 300) throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${answer.body}`);
    return answer;
  }
}

const controlConf = (port: number): string => `
  load_module modules/srv_http_upstream_api_module.so;
  error_log logs/ctrl.log error;
  events {}
  http { server { listen 127.0.0.1:${port}; location /api { dyn_module_api; } } }`;

function isAlive(group: number): boolean {
  try {
    process.kill(group, 0);
    return true;
  } catch {
    return false;
  }
}
