import { srvConfig } from '../nginx-config.js';
import type { Site } from '../site.js';

/** How large the configuration is, besides what every measurement has. */
export interface ChangesShape {
  readonly upstreams: number;
  /** Of each upstream. */
  readonly members: number;
  readonly servers: number;
  /** Of each server. */
  readonly locations: number;
}

const DATA = ['upstream_member', 'dyn_upstream', 'dyn_server', 'location', 'config', 'dyn_header'];
const CONTROL = ['upstream_api', 'dyn_upstream_api', 'dyn_server_api', 'location_api', 'config_api', 'transactions_api', 'dyn_header'];
const load = (names: readonly string[]): string[] => names.map((name) => `load_module modules/srv_http_${name}_module.so;`);

/**
 * srv with its whole control plane, and upstreams, servers and locations.
 * @returns the configuration files
 */
export function changesConfig(site: Site, apiPort: number, shape: ChangesShape): Record<string, string> {
  const main = [
    ...load(DATA),
    'shared_slab_pool_size 1g;',
    'helper broker modules/srv_helper_broker_module.so conf/srv_broker.conf;',
    'helper ctrl modules/srv_helper_ctrl_module.so conf/srv_ctrl.conf;',
  ];
  const http = Array.from({ length: shape.upstreams }, (_, at) => upstreamLines(at, shape.members)).flat();
  const servers = Array.from({ length: shape.servers }, (_, at) => serverLines(site, shape, at)).flat();
  return {
    'conf/srv.conf': srvConfig(site, { main, http, servers }),
    'conf/srv_broker.conf': '',
    'conf/srv_ctrl.conf': [
      ...load(CONTROL),
      'error_log error.log error;',
      'events { }',
      `http { server { listen 127.0.0.1:${apiPort}; location /api { dyn_module_api; } } }`,
      '',
    ].join('\n'),
  };
}

function upstreamLines(upstream: number, members: number): string[] {
  const lines = Array.from({ length: members }, (_, at) => `    server 127.${1 + (upstream >> 8)}.${upstream & 255}.${at}:1;`);
  return [`upstream u${upstream} {`, `    zone u${upstream} 32k;`, ...lines, '}'];
}

function serverLines(site: Site, { locations, upstreams }: ChangesShape, server: number): string[] {
  const pass = (at: number): string => `http://u${(server * locations + at) % upstreams}`;
  return [
    'server {',
    `    listen 127.0.0.1:${site.port};`,
    `    server_name s${server}.bench;`,
    ...Array.from({ length: locations }, (_, at) => `    location /l${at}/ { proxy_pass ${pass(at)}; }`),
    '}',
  ];
}
