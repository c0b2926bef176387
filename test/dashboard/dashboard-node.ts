/** A node with the dashboard, traffic and a browser, for the tests of the page. */
import { chmodSync, writeFileSync } from 'node:fs';
import { hashOf, makeToken, printTokenLine, scopesOf } from '../../core/api/access/token-file.js';
import { startNode, type Node } from '../control/node.js';
import { shippedModules } from '../control/shipped-modules.js';
import { httpBackend } from '../harness/backends.js';
import { Browser, type Page } from '../harness/browser.js';
import type { Scope } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';

/** Tokens by their names, with the scopes. */
const SCOPES = { reader: 'read', writer: 'write', shop: 'read write upstream:shop' } as const;
export type TokenName = keyof typeof SCOPES;

/** A name that is markup: an operator has to see it, and no browser may run it. */
export const HOSTILE = '<img src=x onerror=alert(1)>';

export interface DashboardNode {
  readonly node: Node;
  readonly browser: Browser;
  readonly tokens: Readonly<Record<TokenName, string>>;
}

export async function startDashboard(
  scope: Scope,
  more: { readonly http?: string; readonly files?: Readonly<Record<string, string>> } = {},
): Promise<DashboardNode> {
  const prefix = tempFolder(scope);
  const backend = await httpBackend(scope, (request, response) => {
    response.statusCode = request.url === '/error' ? 500 : 200;
    response.end('hello');
  });
  const tokens = Object.fromEntries(Object.keys(SCOPES).map((name) => [name, makeToken()])) as Record<TokenName, string>;
  const file = writeInto(prefix, 'conf/api_tokens', '');
  chmodSync(file, 0o600);
  const lines = Object.entries(SCOPES).map(([name, words]) =>
    printTokenLine({ name, hash: hashOf(tokens[name as TokenName]), expires: undefined, scopes: scopesOf(name, words.split(' ')) }),
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
  const pages = 'location / { dashboard /api; } location /api { dyn_module_api; }';
  const node = await startNode(scope, {
    prefix,
    ...(more.files && { files: more.files }),
    main: shippedModules('api.conf'),
    controlMain: shippedModules('api_control.conf'),
    http: `${more.http ?? ''} vhost_traffic_status_zone; proxy_cache_path cache keys_zone=pages:1m max_size=10m; limit_req_zone $arg_k zone=per_key:1m rate=1r/s;
      upstream shop { zone shop 64k; server 127.0.0.1:${backend.port}; server 127.0.0.1:1 max_fails=1 fail_timeout=1h; }
      upstream api { zone api 64k; server 127.0.0.1:${backend.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name shop.test; location / { proxy_pass http://shop; } location /limited { limit_req zone=per_key; proxy_pass http://api; } location /cached/ { proxy_cache pages; proxy_cache_valid 1h; proxy_pass http://api; } }`,
    server: 'server_name other.test; location / { proxy_pass http://api; }',
    control: `server { listen 127.0.0.1:%%PORT_open%%; ${pages} } server { listen 127.0.0.1:%%PORT_closed%%; api_tokens api_tokens; api_failed_attempts 0 1m; ${pages} }
      server { listen 127.0.0.1:%%PORT_readonly%%; api_read_only on; ${pages} }`,
  });
  return { node, browser: await Browser.start(scope), tokens };
}

/** The page at a listener of the control plane, as large as a screen. */
export async function openPage({ node, browser }: DashboardNode, port: 'open' | 'closed' | 'readonly', hash = ''): Promise<Page> {
  const page = await browser.page();
  await page.send('Emulation.setDeviceMetricsOverride', { width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
  await page.open(`http://127.0.0.1:${node.srv.port(port)}/${hash}`);
  return page;
}

/** An expression that is true when the page shows a text. */
export const shows = (text: string): string => `document.body.innerText.includes(${JSON.stringify(text)})`;
