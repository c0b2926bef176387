import { srvConfig } from '../nginx-config.js';
import type { Site } from '../site.js';
import { controlConfig } from './control-config.js';
import { EDITS_MODULE, editsModule } from './edits-module.js';

/** Response of the servers without an added location. */
export const OTHER = 'other';

export interface LocationsShape {
  readonly servers: number;
  /** In each of them, besides the one for all other paths. */
  readonly locations: number;
}

/**
 * srv with its control plane and many servers of many locations, beside those of every measurement.
 * @returns the configuration files
 */
export function locationsConfig(site: Site, apiPort: number, shape: LocationsShape): Record<string, string> {
  const main = [
    `load_module ${EDITS_MODULE};`,
    'helper broker modules/srv_helper_broker_module.so conf/srv_broker.conf;',
    'helper ctrl modules/srv_helper_ctrl_module.so conf/srv_ctrl.conf;',
  ];
  const servers = Array.from({ length: shape.servers }, (_, at) => serverLines(site, shape, at)).flat();
  return {
    'conf/srv.conf': srvConfig(site, { main, servers }),
    'conf/srv_broker.conf': '',
    'conf/srv_ctrl.conf': controlConfig(apiPort, EDITS_MODULE),
    [EDITS_MODULE]: editsModule,
  };
}

function serverLines(site: Site, { locations }: LocationsShape, server: number): string[] {
  return [
    'server {',
    `    listen 127.0.0.1:${site.port};`,
    `    server_name s${server}.bench;`,
    ...Array.from({ length: locations }, (_, at) => `    ${locationText(at, '')}`),
    `    location / { return 200 ${OTHER}; }`,
    '}',
  ];
}

/** @param more directives */
export function locationText(location: number, more: string): string {
  const settings = `proxy_set_header X-Location l${location}; proxy_read_timeout ${location + 10}s;`;
  return `location /l${location}/ { proxy_pass http://backend; ${settings} ${more} }`;
}
