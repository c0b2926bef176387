import type { Lab } from '../lab.js';
import type { Load } from '../load.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Column, Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { median } from '../statistics.js';
import {
  drive,
  loadFaults,
  serversWithout,
  siteFaults,
  type Traffic,
  trafficObstacle,
  traffics,
  trafficShape,
  workOf,
} from '../traffic.js';
import type { Turns } from '../turns.js';
import { cpuTime, usedSince, type CpuTime } from '../usage.js';

/** A server is loaded for as long before the next one has its turn. */
const TURN_SECONDS = 2;

/** One turn. */
interface Part {
  readonly load: Load;
  readonly used: CpuTime;
}

export const throughputScenarios: readonly Scenario[] = traffics
  .filter(({ isUnreported }) => isUnreported !== true)
  .map((traffic) => ({
    name: traffic.name,
    title: traffic.title,
    how: traffic.how,
    columns: columns(traffic),
    compared: 'cpu',
    without: serversWithout(traffic),
    obstacle: (lab: Lab): string | undefined => trafficObstacle(lab, traffic),
    sideBySide: true,
    measure: (lab: Lab, server: ServerKind, faults: string[], turns: Turns): Promise<Figures> =>
      withSite(lab, server, trafficShape(traffic), faults, async (site) => {
        faults.push(...(await siteFaults(traffic, site)));
        await turns.take(() => drive(lab, traffic, site, lab.pace.warmUpSeconds));
        const parts: Part[] = [];
        for (let measured = 0; measured < lab.pace.seconds; measured += TURN_SECONDS) {
          parts.push(await turns.take(() => measurePart(lab, traffic, site)));
        }
        for (const { load } of parts) faults.push(...loadFaults(traffic, load));
        return figures(traffic, parts);
      }),
  }));

function columns(traffic: Traffic): Column[] {
  const busy = { key: 'busy', title: 'core busy', unit: '%', digits: 0 };
  if (traffic.per === 'GiB') {
    return [
      { key: 'cpu', title: 'CPU per GiB', unit: 's', digits: 2 },
      { key: 'user', title: 'of it user', unit: 's', digits: 2 },
      { key: 'system', title: 'system', unit: 's', digits: 2 },
      { key: 'rate', title: 'GiB/s', unit: '', digits: 2 },
      busy,
    ];
  }
  return [
    { key: 'cpu', title: 'CPU per request', unit: 'µs', digits: 1 },
    { key: 'user', title: 'of it user', unit: 'µs', digits: 1 },
    { key: 'system', title: 'system', unit: 'µs', digits: 1 },
    { key: 'rate', title: 'requests/s', unit: '', digits: 0 },
    // h2load and s_time report none.
    ...(traffic.streams === undefined && traffic.handshakes === undefined ? [{ key: 'p99', title: 'p99', unit: 'ms', digits: 2 }] : []),
    busy,
  ];
}

async function measurePart(lab: Lab, traffic: Traffic, site: RunningSite): Promise<Part> {
  const before = cpuTime(site.process.pid);
  const result = await drive(lab, traffic, site, TURN_SECONDS);
  return { load: result, used: usedSince(before, site.process.pid) };
}

function figures(traffic: Traffic, parts: readonly Part[]): Figures {
  const sum = (of: (part: Part) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const user = sum(({ used }) => used.user);
  const system = sum(({ used }) => used.system);
  const cpu = user + system;
  const seconds = sum(({ load: { seconds } }) => seconds);
  const work = sum(({ load }) => workOf(traffic, load));
  const both = { rate: work / seconds, busy: (cpu / seconds) * 100 };
  // Seconds for a GiB, microseconds for a request.
  const unit = traffic.per === 'GiB' ? 1 : 1e6;
  const costs = { cpu: (cpu * unit) / work, user: (user * unit) / work, system: (system * unit) / work };
  if (traffic.per === 'GiB') return { ...both, ...costs };
  return { ...both, ...costs, p99: median(parts.map(({ load: { p99 } }) => p99)) };
}
