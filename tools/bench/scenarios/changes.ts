import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '../http-probe.js';
import type { Lab } from '../lab.js';
import { freePorts } from '../ports.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { percentile } from '../statistics.js';
import { proportionalBytes, residentBytes, runTime } from '../usage.js';
import { changeKinds, type ChangeCall } from './change-calls.js';
import { changesConfig, type ChangesShape } from './changes-config.js';

const WORKERS = 2;
export const SMALL: ChangesShape = { upstreams: 1, members: 10, servers: 1, locations: 10 };
const LARGE: ChangesShape = { upstreams: 10_000, members: 10, servers: 1000, locations: 10 };
/** Calls of one transaction of the cycles. */
const BATCH = 100;
/** Until a server that was just changed rests. */
const REST_MS = 500;
const MEGABYTE = 1024 ** 2;

/** Times of the changes of one kind. */
interface KindMeasured {
  /** Milliseconds until each response. */
  readonly milliseconds: readonly number[];
  /** Seconds of processor time of one. */
  readonly cpu: number;
}

interface Measured {
  readonly kinds: ReadonlyMap<string, KindMeasured>;
  readonly start: number;
  readonly memory: number;
  /** Memory after the cycles, as a multiple of that before. */
  readonly growth: number;
}

export const changesScenario: Scenario = {
  name: 'changes',
  title: 'Every kind of change',
  how:
    `Calls of the API of srv with ${WORKERS} workers, one after the other: members, upstreams, locations and servers are added, changed and ` +
    'removed, settings changed, and transactions of three calls; with one upstream, one server and 10 locations, and with 10,000 upstreams of ' +
    '10 members and 10,000 locations on 1,000 servers. Then locations are added and removed in transactions, and the memory is compared.',
  columns: [
    { key: 'smallCpu', title: 'small: CPU per change', unit: 'ms', digits: 2 },
    { key: 'smallP50', title: 'p50 of the worst kind', unit: 'ms', digits: 2 },
    { key: 'smallP99', title: 'p99 of the worst kind', unit: 'ms', digits: 2 },
    { key: 'largeCpu', title: 'large: CPU per change', unit: 'ms', digits: 2 },
    { key: 'largeP50', title: 'p50 of the worst kind', unit: 'ms', digits: 2 },
    { key: 'largeP99', title: 'p99 of the worst kind', unit: 'ms', digits: 2 },
    { key: 'worst', title: 'CPU large / small of the worst kind', unit: '×', digits: 2 },
    { key: 'largeStart', title: 'start-up of the large one', unit: 'ms', digits: 0 },
    { key: 'largeMemory', title: 'its memory', unit: 'MB', digits: 0 },
    { key: 'cycles', title: 'memory after cycles / before', unit: '×', digits: 2 },
  ],
  breakdown: {
    title: 'kind of change',
    rows: changeKinds(0, '').map(({ name }) => name),
    columns: (['small', 'large'] as const).flatMap((size) => [
      { key: `${size}Cpu`, title: `${size}: CPU`, unit: 'ms', digits: 2 },
      { key: `${size}P50`, title: 'p50', unit: 'ms', digits: 2 },
      { key: `${size}P99`, title: 'p99', unit: 'ms', digits: 2 },
    ]),
  },
  oursOnly: true,
  // A hundred thousand cycles.
  limitSeconds: 3600,
  obstacle: () => undefined,
  measure: async (lab, server, faults) => {
    const small = await changeAll(lab, server, SMALL, lab.pace.cycles, faults);
    const large = await changeAll(lab, server, LARGE, 0, faults);
    const ratios = Array.from(large.kinds, ([kind, { cpu }]) => cpu / (small.kinds.get(kind)?.cpu ?? 0));
    return {
      ...figures('small', small),
      ...figures('large', large),
      worst: Math.max(...ratios),
      largeStart: large.start,
      largeMemory: large.memory / MEGABYTE,
      cycles: small.growth,
    };
  },
};

function figures(size: 'small' | 'large', { kinds }: Measured): Figures {
  const all = Array.from(kinds, ([kind, { milliseconds, cpu }]) => {
    return { kind, cpu: cpu * 1000, p50: percentile(milliseconds, 0.5), p99: percentile(milliseconds, 0.99) };
  });
  const ofKinds = all.flatMap(({ kind, cpu, p50, p99 }): [string, number][] => [
    [`${kind} ${size}Cpu`, cpu],
    [`${kind} ${size}P50`, p50],
    [`${kind} ${size}P99`, p99],
  ]);
  return {
    ...Object.fromEntries(ofKinds),
    [`${size}Cpu`]: all.reduce((sum, { cpu }) => sum + cpu, 0) / all.length,
    [`${size}P50`]: Math.max(...all.map(({ p50 }) => p50)),
    [`${size}P99`]: Math.max(...all.map(({ p99 }) => p99)),
  };
}

async function changeAll(lab: Lab, server: ServerKind, shape: ChangesShape, cycles: number, faults: string[]): Promise<Measured> {
  const [apiPort = 0] = await freePorts(1);
  const kind = { ...server, files: (site: Parameters<ServerKind['files']>[0]) => changesConfig(site, apiPort, shape) };
  const others = lab.cores.all.filter((core) => !lab.cores.load.includes(core));
  const cores = { ...lab.cores, server: others.length > 0 ? others : lab.cores.all };
  return withSite(lab, kind, { workers: WORKERS, cores }, faults, async (site) => {
    const changer = new Changer(site, apiPort);
    try {
      await changer.ready();
      const memory = proportionalBytes(site.process.pid);
      // Code that runs for the first time would be measured otherwise.
      await changer.run(Math.ceil(lab.pace.changes / 2), 'w');
      const kinds = await changer.run(lab.pace.changes, 'run');
      return { kinds, memory, start: site.answeredAt - site.spawnedAt, growth: await changer.cycles(cycles) };
    } finally {
      changer.close();
    }
  });
}

/** Waits until the control plane responds, which starts after the traffic. */
export async function apiReady(api: HttpClient): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const status = await api.send('GET', '/api/v1/dyn_ups/u0').then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await delay(10);
  }
  throw new Error('the API does not respond');
}

class Changer {
  readonly #api: HttpClient;

  constructor(
    private readonly site: RunningSite,
    apiPort: number,
  ) {
    this.#api = new HttpClient(apiPort);
  }

  async ready(): Promise<void> {
    await apiReady(this.#api);
    await delay(REST_MS);
  }

  /** @param run names of one run are not those of another */
  async run(count: number, run: string): Promise<Measured['kinds']> {
    const kinds = new Map<string, KindMeasured>();
    for (const { name, call } of changeKinds(this.site.port, run)) {
      const milliseconds: number[] = [];
      const before = runTime(this.site.process.pid);
      for (let index = 0; index < count; index++) milliseconds.push(await this.#change(name, call(index)));
      kinds.set(name, { milliseconds, cpu: (runTime(this.site.process.pid) - before) / count });
    }
    return kinds;
  }

  /** Adds and removes so many locations. @returns memory afterwards, as a multiple of that when a tenth was done */
  async cycles(count: number): Promise<number> {
    if (count === 0) return 1;
    const tenth = Math.ceil(count / BATCH / 10);
    for (let batch = 0; batch < tenth; batch++) await this.#cycle(batch);
    await delay(REST_MS);
    const before = residentBytes(this.site.process.pid);
    for (let batch = tenth; batch < tenth * 10; batch++) await this.#cycle(batch);
    await delay(REST_MS);
    return residentBytes(this.site.process.pid) / before;
  }

  async #cycle(batch: number): Promise<void> {
    const kinds = changeKinds(this.site.port, `c${batch % 2}`);
    for (const wanted of ['add location', 'remove location']) {
      const kind = kinds.filter(({ name }) => name === wanted);
      const calls = kind.flatMap(({ call }) => Array.from({ length: BATCH }, (_, index) => inTransaction(call(index))));
      await this.#change(wanted, { method: 'POST', path: '/transactions', body: { calls } });
    }
  }

  async #change(name: string, { method, path, body }: ChangeCall): Promise<number> {
    const start = performance.now();
    const { status, text } = await this.#api.send(method, `/api/v1${path}`, body);
    if (status >= 300) throw new Error(`${name}: status ${status} ${text.slice(0, 200)}`);
    return performance.now() - start;
  }

  close(): void {
    this.#api.close();
  }
}

const inTransaction = (call: ChangeCall): ChangeCall => ({ ...call, path: `/v1${call.path}` });
