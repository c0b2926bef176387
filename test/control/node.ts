/** A whole node for black-box tests: data plane with workers, broker, control plane. */
import { get, json, type JsonResponse } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv, type SrvOptions } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

export interface NodeOptions extends SrvOptions {
  /** Inside `http`: groups, and servers beside the one that passes to `demo`. */
  readonly http?: string;
  /** Inside `stream`. */
  readonly stream?: string;
  /** The server of the data plane on port `web`. */
  readonly server?: string;
  /** Parameters of its `listen` line. */
  readonly listen?: string;
  /** Inside the location of the API. */
  readonly api?: string;
  /** Inside the `http` block of the control plane. */
  readonly control?: string;
  /** At the top of the configuration of the control plane. */
  readonly controlMain?: string;
  readonly workers?: number;
  /** At the top of the configuration of the data plane. */
  readonly main?: string;
}

/** The response's body, as far as tests look into it. */
type Member = Readonly<Record<string, unknown>> & { readonly id: number; readonly server: string };

export class Node {
  constructor(readonly srv: Srv) {}

  /** A call of the API; `path` is below `/api/v1`. */
  call(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<JsonResponse> {
    return json(this.srv.port('api'), method, `/api/v1${path}`, body, headers);
  }

  /** A call of the member API; `path` is below the list of groups. */
  upstreams(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<JsonResponse> {
    return this.call(method, `/upstream_api/http/upstreams${path}`, body, headers);
  }

  /** The members of an upstream. */
  async members(group = 'demo'): Promise<Member[]> {
    return (await this.upstreams('GET', `/${group}/servers/`)).json as Member[];
  }

  /** `id server` of each member of an upstream. */
  async list(group = 'demo'): Promise<string[]> {
    return (await this.members(group)).map(({ id, server }) => `${id} ${server}`);
  }

  web(path = '/'): ReturnType<typeof get> {
    return get(this.srv.port('web'), path);
  }

  /** Process id of a helper, as the log has it. */
  helper(kind: 'broker' | 'ctrl'): number {
    const lines = [...this.srv.log().matchAll(new RegExp(`start helper ${kind}, process (\\d+)`, 'g'))];
    const pid = Number(lines.at(-1)?.[1]);
    if (Number.isNaN(pid)) throw new Error(`the log names no helper ${kind}`);
    return pid;
  }

  /** Resolves when the API works. */
  async ready(): Promise<void> {
    await waitFor('the API', () =>
      this.call('GET', '/upstream_api/http/upstreams/').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  }
}

const PROXY = 'location / { proxy_pass http://demo; }';

export function nodeConf({
  http = upstreams('demo'),
  stream = '',
  server = PROXY,
  listen = '',
  workers = 2,
  main = '',
}: NodeOptions = {}): string {
  return `
    worker_processes ${workers};
    error_log logs/error.log notice;
    ${main}
    load_module modules/srv_http_upstream_member_module.so;
    load_module modules/srv_http_multi_header_module.so;
    helper broker modules/srv_helper_broker_module.so conf/broker.conf;
    helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
    events {}
    http {
      ${http}
      server { listen 127.0.0.1:%%PORT_web%% ${listen}; ${server} }
    }
    ${stream === '' ? '' : `stream { ${stream} }`}`;
}

function controlConf({ api = '', control = '', controlMain = '' }: NodeOptions): string {
  return `
    load_module modules/srv_http_upstream_api_module.so;
    load_module modules/srv_http_sendmsg_module.so;
    ${controlMain}
    error_log logs/ctrl.log info;
    events {}
    http {
      ${control}
      server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; ${api} } }
    }`;
}

/** Starts a node and waits until its API responds. */
export async function startNode(t: Scope, options: NodeOptions = {}): Promise<Node> {
  const files = { 'conf/broker.conf': '', 'conf/ctrl.conf': controlConf(options), ...options.files };
  const node = new Node(await startSrv(t, nodeConf(options), { ...options, files }));
  await node.ready();
  return node;
}

/** One node for the tests of a file that do not disturb each other: started for the first that asks, ended after the last. */
export function sharedNode(options: NodeOptions = {}): () => Promise<Node> {
  return shared((scope) => startNode(scope, options));
}

/** An `upstream` block for each name, with two members as `demo` has them, of which none responds. */
export function upstreams(...names: readonly string[]): string {
  return names.map((name) => `upstream ${name} { zone ${name} 256k; server 127.0.0.1:1; server 127.0.0.1:2 weight=2; }`).join('\n');
}
