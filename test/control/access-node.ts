/** What the tests of access to the API have in common. */
import { X509Certificate } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { hashOf, makeToken, printTokenLine, scopesOf } from '../../core/api/access/token-file.js';
import { selfSigned, type Certificate } from '../harness/certificate.js';
import type { JsonResponse } from '../harness/client.js';
import type { Scope } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { startNode, upstreams, type Node } from './node.js';

/** Tokens of the shared node by their names, which say what they may do. */
export const SCOPES = {
  reader: 'read',
  writer: 'write',
  shop: 'write upstream:shop',
  kv: 'read write module:kv',
  looker: 'read upstream:shop upstream:demo',
  expired: 'write',
} as const;
export type Name = keyof typeof SCOPES;

export interface AccessNode {
  readonly node: Node;
  readonly tokens: Readonly<Record<Name, string>>;
  /** Of clients: two that the authorities of the configuration signed, and one that they did not. */
  readonly deploy: Certificate;
  readonly reader: Certificate;
  readonly stranger: Certificate;
}

/** A line of the file of tokens. */
export const line = (name: string, token: string, scopes: string, expires?: number): string =>
  printTokenLine({ name, hash: hashOf(token), expires, scopes: scopesOf(name, scopes.split(' ')) });

const VERIFIED = 'ssl_client_certificate clients.pem; ssl_verify_client on;';
const fingerprintOf = ({ cert }: Certificate): string => new X509Certificate(cert).fingerprint256;

const CONTROL = ({ reader, stranger }: Pick<AccessNode, 'reader' | 'stranger'>): string => `
  api_audit_log logs/audit.log;
  server { listen 127.0.0.1:%%PORT_tokens%%; api_tokens api_tokens; api_failed_attempts 0 1m;
    location /api { dyn_module_api; } location /kv { dyn_sendmsg_kv; } }
  server { listen unix:%%PREFIX%%/api.sock mode=0660; listen unix:%%PREFIX%%/plain.sock; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_limited%%; api_tokens api_tokens; api_failed_attempts 3 1m; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_readonly%%; api_read_only on; api_audit_log /dev/full; location /api { dyn_module_api; } location /kv { dyn_sendmsg_kv; } }
  server { listen 127.0.0.1:%%PORT_basic%%; auth_basic srv; auth_basic_user_file users; api_failed_attempts 0 1m; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_limits%%; api_failed_attempts 0 1m;
    location /api { dyn_module_api; api_limit_except upstream_api GET { auth_basic "who are you"; auth_basic_user_file users; }
      api_limit_except kv GET { allow 127.0.0.2; deny all; auth_basic x; auth_basic_user_file users; } } }
  ssl_certificate server.pem; ssl_certificate_key server.key;
  server { listen 0.0.0.0:%%PORT_scopes%% ssl; ${VERIFIED} api_tokens api_tokens; api_failed_attempts 0 1m;
    api_client_certificate CN=deploy write upstream:shop; api_client_certificate sha256:${fingerprintOf(reader)} read;
    location /api { dyn_module_api; } }
  server { listen 0.0.0.0:%%PORT_all%% ssl; ${VERIFIED} location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_optional%% ssl; ssl_client_certificate clients.pem; ssl_verify_client optional;
    api_client_certificate CN=deploy write; api_tokens api_tokens; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_any%% ssl; ssl_verify_client optional_no_ca; api_client_certificate CN=deploy write;
    api_client_certificate sha256:${fingerprintOf(stranger)} read; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_names%% ssl; server_name open.test;
    location / { return 200 "open $ssl_client_verify $ssl_client_s_dn"; } }
  server { listen 127.0.0.1:%%PORT_names%% ssl; server_name strict.test; ${VERIFIED}
    location / { return 200 "$ssl_client_verify $ssl_client_s_dn $ssl_client_i_dn $ssl_client_fingerprint $ssl_client_serial"; } }`;

/** A node whose control plane has a listener for each way to authenticate. */
export async function startAccessNode(scope: Scope): Promise<AccessNode> {
  const prefix = tempFolder(scope);
  const tokens = Object.fromEntries(Object.keys(SCOPES).map((name) => [name, makeToken()])) as Record<Name, string>;
  const lines = Object.entries(SCOPES).map(([name, words]) =>
    line(name, tokens[name as Name], words, name === 'expired' ? Date.parse('2020-01-01T00:00:00Z') : undefined),
  );
  const file = writeInto(prefix, 'conf/api_tokens', '');
  writeFileSync(writeInto(prefix, 'conf/users', ''), `anna:{PLAIN}s3cret\n`);
  chmodSync(file, 0o600);
  writeFileSync(file, `# tokens\n${lines.join('\n')}\n`);
  const [server, deploy, reader, stranger] = [selfSigned('localhost'), selfSigned('deploy'), selfSigned('reader'), selfSigned('stranger')];
  const node = await startNode(scope, {
    prefix,
    files: { 'conf/server.pem': server.cert, 'conf/server.key': server.key, 'conf/clients.pem': deploy.cert + reader.cert },
    control: CONTROL({ reader, stranger }),
    http: upstreams('demo', 'shop', 'other'),
    main: 'load_module modules/srv_http_events_module.so; load_module modules/srv_http_config_module.so; load_module modules/srv_http_dyn_upstream_module.so;',
    controlMain: `load_module modules/srv_http_events_api_module.so; load_module modules/srv_http_history_api_module.so; load_module modules/srv_http_dyn_upstream_api_module.so;
      load_module modules/srv_http_transactions_api_module.so;`,
  });
  return { node, tokens, deploy, reader, stranger };
}

/** Path of the members of an upstream. */
export const MEMBERS = (upstream: string): string => `/upstream_api/http/upstreams/${upstream}/servers/`;
export const authorization = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

/** Status and code. */
export const outcome = (answer: JsonResponse): string =>
  answer.status < 400 ? String(answer.status) : `${answer.status} ${errorOf(answer).code}`;

/** The line of the audit log of a request, once it is there. */
export function audited(node: Node, requestId: string): Promise<Record<string, unknown>> {
  return waitFor('the line of the audit log', () => {
    const lines = node.srv.read('logs/audit.log').split('\n').filter(Boolean);
    return lines.map((text) => JSON.parse(text) as Record<string, unknown>).find((entry) => entry['request_id'] === requestId);
  });
}
