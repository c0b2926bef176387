import { srvConfig } from '../nginx-config.js';
import type { Site } from '../site.js';
import { controlConfig } from './control-config.js';

/** The group that members are added to. */
export const GROUP = 'members';

/** Enough for the members of the greatest group. */
const ZONE_SIZE = '256m';

/**
 * srv with its control plane and a group of many members. Nothing listens at their addresses: a request gets a response only from a member
 * that was added.
 * @returns the configuration files
 */
export function membersConfig(site: Site, apiPort: number, members: number): Record<string, string> {
  const main = [
    'load_module modules/srv_http_upstream_member_module.so;',
    'helper broker modules/srv_helper_broker_module.so conf/srv_broker.conf;',
    'helper ctrl modules/srv_helper_ctrl_module.so conf/srv_ctrl.conf;',
  ];
  const http = [`upstream ${GROUP} {`, `    zone ${GROUP} ${ZONE_SIZE};`, ...memberLines(members), '}'];
  const server = [
    'location /address {',
    `    proxy_pass http://${GROUP};`,
    // Members that refuse connections are errors to the log, and expected here.
    '    error_log error.log crit;',
    '}',
  ];
  return {
    'conf/srv.conf': srvConfig(site, { main, http, server }),
    'conf/srv_broker.conf': '',
    'conf/srv_ctrl.conf': controlConfig(apiPort, 'modules/srv_http_upstream_api_module.so'),
  };
}

/** `server` lines with addresses of 127.128.0.0/9, none of which the backend listens on. */
function memberLines(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const address = `127.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
    return `    server ${address}:1 max_fails=0;`;
  });
}
