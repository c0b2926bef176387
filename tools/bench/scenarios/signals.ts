import type { Lab } from '../lab.js';
import { type Additions, srvConfig } from '../nginx-config.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { drive, loadFaults, siteFaults, trafficNamed, trafficObstacle, workOf } from '../traffic.js';
import { runTime } from '../usage.js';

/** Seconds of one load. */
const TURN_SECONDS = 2;
/** Processor seconds after which a server has compiled its code; so many loads at most. */
const WARM_SECONDS = 8;
const MOST_WARM_UPS = 10;

const traffic = trafficNamed('signals', '1k');

/** The location that is measured; nothing else differs between the servers than what is below. */
const location = (more: string): string => `location = ${traffic.path} { ${more}proxy_pass http://backend; }`;
const load = (...names: readonly string[]): string[] => names.map((name) => `load_module modules/srv_${name}_module.so;`);

const STATISTICS: Additions = {
  main: load('http_status_zone', 'http_vts'),
  http: ['vts on;'],
  server: ['status_zone bench;', location('status_zone small; ')],
};

/** By the key of their figures. */
const SIGNALS: Readonly<Record<'off' | 'statistics' | 'all', Additions>> = {
  off: { server: [location('')] },
  statistics: STATISTICS,
  all: {
    main: [...STATISTICS.main!, ...load('http_live_log', 'http_slow_log', 'workers', 'metrics', 'http_telemetry')],
    http: [...STATISTICS.http!, 'slow_log 1s;', 'otel_exporter { endpoint http://127.0.0.1:9; }', 'telemetry ratio 0;'],
    server: STATISTICS.server!,
  },
};
type Signals = keyof typeof SIGNALS;

/** Every order once: none has the same one always before it. */
const ORDERS: readonly (readonly Signals[])[] = [
  ['off', 'statistics', 'all'],
  ['all', 'statistics', 'off'],
  ['statistics', 'off', 'all'],
  ['all', 'off', 'statistics'],
  ['off', 'all', 'statistics'],
  ['statistics', 'all', 'off'],
];

export const signalsScenario: Scenario = {
  name: 'signals',
  title: 'Statistics, logs and telemetry switched on',
  how:
    '1 KB proxied by three servers side by side that are loaded in turn. The first one counts nothing. The second one has statistics: server, location, ' +
    'upstream, member, listener. The third one has the live log, `slow_log`, the metrics and telemetry that samples no request as well. ' +
    'The ratios are those of the processor time of a request to the first one.',
  columns: [
    { key: 'off', title: 'CPU per request, nothing', unit: 'µs', digits: 2 },
    { key: 'statistics', title: 'statistics', unit: 'µs', digits: 2 },
    { key: 'all', title: 'everything', unit: 'µs', digits: 2 },
    { key: 'statisticsRatio', title: 'statistics / nothing', unit: '×', digits: 3 },
    { key: 'allRatio', title: 'everything / nothing', unit: '×', digits: 3 },
  ],
  oursOnly: true,
  obstacle: (lab) => trafficObstacle(lab, traffic),
  measure,
};

async function measure(lab: Lab, server: ServerKind, faults: string[]): Promise<Figures> {
  const kind = (signals: Signals): ServerKind => ({ ...server, files: (site) => ({ 'conf/srv.conf': srvConfig(site, SIGNALS[signals]) }) });
  const run = <T>(signals: Signals, step: (site: RunningSite) => Promise<T>): Promise<T> => withSite(lab, kind(signals), {}, faults, step);
  return run('off', (off) => run('statistics', (statistics) => run('all', (all) => compare(lab, { off, statistics, all }, faults))));
}

/** Loads all in turn, in every order: what changes meanwhile adds as much to each. */
async function compare(lab: Lab, sites: Readonly<Record<Signals, RunningSite>>, faults: string[]): Promise<Figures> {
  const cpu = { off: 0, statistics: 0, all: 0 };
  const requests = { off: 0, statistics: 0, all: 0 };
  const names = ORDERS[0]!;
  for (const name of names) {
    faults.push(...(await siteFaults(traffic, sites[name])));
    for (let loads = 0; loads < MOST_WARM_UPS && runTime(sites[name].process.pid) < WARM_SECONDS; loads++)
      await drive(lab, traffic, sites[name], lab.pace.warmUpSeconds);
  }
  for (const order of ORDERS) {
    for (const name of order) {
      const { pid } = sites[name].process;
      const before = runTime(pid);
      const result = await drive(lab, traffic, sites[name], TURN_SECONDS);
      faults.push(...loadFaults(traffic, result));
      cpu[name] += runTime(pid) - before;
      requests[name] += workOf(traffic, result);
    }
  }
  const [off, statistics, all] = names.map((name) => (cpu[name] * 1e6) / requests[name]) as [number, number, number];
  return { off, statistics, all, statisticsRatio: statistics / off, allRatio: all / off };
}
