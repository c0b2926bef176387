import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import type { Lab } from '../lab.js';
import { load } from '../load.js';
import type { Started } from '../processes.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { residentBytes, runTime } from '../usage.js';

/** Client processes that share the connections, so that none of them needs many files. */
const CLIENTS = 4;

/** Files that a server needs besides those of its idle connections. */
const OTHER_FILES = 300;

/** How long it is watched what an idle server does. */
const IDLE_SECONDS = 5;

interface ClientReport {
  readonly open: number;
  readonly failed: number;
}

export const idleScenarios: readonly Scenario[] = [false, true].map((tls) => ({
  name: tls ? 'idle-tls' : 'idle',
  title: tls ? 'Idle keep-alive connections over TLS' : 'Idle keep-alive connections',
  how:
    'Resident memory of a warmed-up server before and after the connections were opened and each served one request, ' +
    'divided by their number. Memory of the kernel is not in it. Then, how busy the server is while nothing happens.',
  columns: [
    { key: 'each', title: 'memory per connection', unit: 'KiB', digits: 2 },
    { key: 'connections', title: 'connections', unit: '', digits: 0 },
    { key: 'before', title: 'memory before', unit: 'MiB', digits: 1 },
    { key: 'after', title: 'memory after', unit: 'MiB', digits: 1 },
    { key: 'busy', title: 'core busy', unit: '%', digits: 3 },
  ],
  compared: 'each',
  obstacle: ({ programs }: Lab) => (tls && programs.openssl === undefined ? 'openssl is missing' : undefined),
  measure: (lab: Lab, server: ServerKind, faults: string[]): Promise<Figures> =>
    withSite(lab, server, { tls }, faults, (site) => measureMemory(lab, site, faults)),
}));

async function measureMemory(lab: Lab, site: RunningSite, faults: string[]): Promise<Figures> {
  // Memory that a server allocates once for its first requests is not a part of a connection's memory.
  if (lab.programs.wrk !== undefined) {
    await load(lab, { url: `${site.origin}/1k`, connections: 64, seconds: lab.pace.warmUpSeconds, cores: lab.cores.load });
  }
  await delay(lab.pace.restSeconds * 1000);
  const connections = possibleConnections(lab.pace.idleConnections);
  const before = residentBytes(site.process.pid);
  const clients = await openConnections(lab, site, connections);
  try {
    await delay(lab.pace.restSeconds * 1000);
    const worked = runTime(site.process.pid);
    await delay(IDLE_SECONDS * 1000);
    const busy = ((runTime(site.process.pid) - worked) / IDLE_SECONDS) * 100;
    const after = residentBytes(site.process.pid);
    const reports = await Promise.all(clients.map(askClient));
    const open = reports.reduce((sum, report) => sum + report.open, 0);
    if (open < connections) faults.push(`${connections - open} of ${connections} connections failed or were closed`);
    return { each: (after - before) / connections / 1024, connections, before: before / 2 ** 20, after: after / 2 ** 20, busy };
  } finally {
    for (const client of clients) await lab.processes.stop(client, 'SIGKILL');
  }
}

/** Fewer than wanted where the hard limit of open files, which holds for the server too, is too low. */
function possibleConnections(wanted: number): number {
  const limit = Number(spawnSync('/bin/sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout);
  return Number.isNaN(limit) ? wanted : Math.min(wanted, limit - OTHER_FILES);
}

async function openConnections(lab: Lab, site: RunningSite, connections: number): Promise<Started[]> {
  const program = fileURLToPath(new URL('../idle-client.js', import.meta.url));
  const kind = site.origin.startsWith('https:') ? ['tls'] : [];
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const share = Math.floor((connections + index) / CLIENTS);
    return lab.processes.start([process.execPath, program, String(site.port), String(share), ...kind], {
      cores: lab.cores.load,
      ipc: true,
    });
  });
  await Promise.all(clients.map(nextReport));
  return clients;
}

function askClient(client: Started): Promise<ClientReport> {
  const report = nextReport(client);
  client.child.send('count');
  return report;
}

async function nextReport(client: Started): Promise<ClientReport> {
  const exited = once(client.child, 'exit').then(() => {
    throw new Error(`a client of idle connections ended: ${client.output()}`);
  });
  const [report] = (await Promise.race([once(client.child, 'message'), exited])) as [ClientReport];
  exited.catch(() => undefined); // it ends when it has served its purpose
  return report;
}
