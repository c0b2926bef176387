import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { srvConfig } from '../nginx-config.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import type { Site } from '../site.js';
import { runTime } from '../usage.js';

/** The interval of the checks. */
const INTERVAL_SECONDS = 5;

/** Every member is checked so often while the processor time is taken. */
const INTERVALS = 4;

export const healthScenario: Scenario = {
  name: 'health',
  title: 'Health checks',
  how:
    `Every member of an upstream is asked over HTTP every ${INTERVAL_SECONDS} s, each check over a connection of its own. All processor time of the ` +
    `server in ${INTERVALS} intervals, after each member was checked at least once; there is no other traffic. The members are addresses of the loopback ` +
    'interface, behind which one nginx responds.',
  columns: [
    { key: 'busy', title: 'core busy', unit: '%', digits: 1 },
    { key: 'each', title: 'CPU per check', unit: 'µs', digits: 0 },
    { key: 'members', title: 'members', unit: '', digits: 0 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: (lab, server, faults) => {
    const members = lab.pace.checkedMembers;
    return withSite(lab, withChecks(server, members), { addresses: ['0.0.0.0'] }, faults, (site) => measureChecks(site, members, faults));
  },
};

async function measureChecks(site: RunningSite, members: number, faults: string[]): Promise<Figures> {
  await delay(2 * INTERVAL_SECONDS * 1000);
  const before = runTime(site.process.pid);
  const seconds = INTERVALS * INTERVAL_SECONDS;
  await delay(seconds * 1000);
  const used = runTime(site.process.pid) - before;
  const failed = readFileSync(join(site.dir, 'error.log'), 'utf8').match(/peer is unhealthy/g)?.length ?? 0;
  if (failed > 0) faults.push(`${failed} checks failed`);
  return { busy: (used / seconds) * 100, each: (used / (members * INTERVALS)) * 1e6, members };
}

/** srv with an upstream of so many members. */
function withChecks(server: ServerKind, members: number): ServerKind {
  return { ...server, files: (site) => ({ 'conf/srv.conf': healthConfiguration(site, members) }) };
}

/** srv with a health check of so many members. */
export function healthConfiguration(site: Site, members: number): string {
  const main = ['load_module modules/srv_http_health_check_module.so;'];
  const http = [
    'upstream checked {',
    '    zone checked 64m;',
    ...Array.from({ length: members }, (_, index) => `    server 127.1.${index >> 8}.${index & 255}:${site.backend};`),
    `    health_check_http interval=${INTERVAL_SECONDS}s { uri /1k; }`,
    '}',
  ];
  // A member that does not pass is a line of level warn.
  const server = ['location /checked { proxy_pass http://checked; }'];
  return srvConfig(site, { main, http, server }).replace('error_log error.log error;', 'error_log error.log warn;');
}
