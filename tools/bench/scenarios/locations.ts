import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '../http-probe.js';
import type { Lab } from '../lab.js';
import { freePorts } from '../ports.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { percentile } from '../statistics.js';
import { runTime } from '../usage.js';
import type { EditCall } from './edits-module.js';
import { editKinds, type EditKind } from './location-edits.js';
import { locationsConfig, locationText, type LocationsShape } from './locations-config.js';

const WORKERS = 2;
const FEW: LocationsShape = { servers: 1, locations: 9 };
const MANY: LocationsShape = { servers: 1000, locations: 9 };
/** Until a server that was just changed rests. */
const REST_MS = 50;
const PATH = '/api/v1/bench_edits';

/** Results of all changes of one kind. */
interface Changes {
  readonly milliseconds: readonly number[];
  /** Seconds of processor time of one. */
  readonly cpu: number;
}

type ByKind = ReadonlyMap<string, Changes>;

export const locationsScenario: Scenario = {
  name: 'locations',
  title: 'Changing locations, servers and upstreams',
  how:
    `POST to the API of srv with ${WORKERS} workers, one after the other: locations, servers, upstreams and single directives are added, changed ` +
    'and removed, in a configuration of 10,000 locations on 1,000 servers and in one of 10 locations on one server. After the changes of one ' +
    'kind a request must see each of them.',
  columns: [
    { key: 'smallCpu', title: '10 locations: CPU per change', unit: 'ms', digits: 2 },
    { key: 'smallP99', title: 'p99', unit: 'ms', digits: 2 },
    { key: 'largeCpu', title: '10,000 locations: CPU per change', unit: 'ms', digits: 2 },
    { key: 'largeP99', title: 'p99', unit: 'ms', digits: 2 },
    { key: 'growth', title: 'CPU large / small', unit: '×', digits: 2 },
    { key: 'worst', title: 'of the worst kind', unit: '×', digits: 2 },
    { key: 'largeStart', title: 'start-up with 10,000', unit: 'ms', digits: 0 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: async (lab, server, faults) => {
    const small = await changeAll(lab, server, FEW, faults);
    const large = await changeAll(lab, server, MANY, faults);
    const ratios = Array.from(large.kinds, ([kind, { cpu }]) => cpu / (small.kinds.get(kind)?.cpu ?? 0));
    return {
      ...figures('small', small.kinds),
      ...figures('large', large.kinds),
      growth: cpuOf(large.kinds) / cpuOf(small.kinds),
      worst: Math.max(...ratios),
      largeStart: large.start,
    };
  },
};

function figures(size: 'small' | 'large', kinds: ByKind): Figures {
  const all = Array.from(kinds.values(), ({ milliseconds }) => milliseconds).flat();
  return { [`${size}Cpu`]: cpuOf(kinds) * 1000, [`${size}P99`]: percentile(all, 0.99) };
}

function cpuOf(kinds: ByKind): number {
  return Array.from(kinds.values(), ({ cpu }) => cpu).reduce((sum, cpu) => sum + cpu, 0) / kinds.size;
}

async function changeAll(
  lab: Lab,
  server: ServerKind,
  shape: LocationsShape,
  faults: string[],
): Promise<{ readonly kinds: ByKind; readonly start: number }> {
  const [apiPort = 0] = await freePorts(1);
  const kind = { ...server, files: (site: Parameters<ServerKind['files']>[0]) => locationsConfig(site, apiPort, shape) };
  const others = lab.cores.all.filter((core) => !lab.cores.load.includes(core));
  const cores = { ...lab.cores, server: others.length > 0 ? others : lab.cores.all };
  return withSite(lab, kind, { workers: WORKERS, cores }, faults, async (site) => {
    const editor = new Editor(site, apiPort, shape, faults);
    try {
      await editor.ready();
      // Code that runs for the first time would be measured otherwise.
      await editor.run(Math.ceil(lab.pace.changes / 2), 'w');
      return { kinds: await editor.run(lab.pace.changes, 'n'), start: site.answeredAt - site.spawnedAt };
    } finally {
      editor.close();
    }
  });
}

/** Changes the configuration and looks whether traffic sees it. */
class Editor {
  readonly #api: HttpClient;
  readonly #web: HttpClient;

  constructor(
    private readonly site: RunningSite,
    apiPort: number,
    private readonly shape: LocationsShape,
    private readonly faults: string[],
  ) {
    this.#api = new HttpClient(apiPort);
    this.#web = new HttpClient(site.port);
  }

  /** Waits until the control plane responds, which starts after the traffic. */
  async ready(): Promise<void> {
    const deadline = performance.now() + 30_000;
    for (;;) {
      const status = await this.#api.send('OPTIONS', PATH).then(
        (answer) => answer.status,
        () => 0,
      );
      if (status >= 200 && status < 300) break;
      if (performance.now() > deadline) throw new Error(`the API does not respond (status ${status})`);
      await delay(10);
    }
    // Right after a start with many locations it may be late.
    await this.#api.send('POST', PATH, { op: 'replace', target: 'location 1 0', text: locationText(0, '') });
    await delay(REST_MS);
  }

  /** @param run names of one run are not those of another */
  async run(count: number, run: string): Promise<ByKind> {
    const results = new Map<string, Changes>();
    const indexes = Array.from({ length: count }, (_, index) => index);
    for (const kind of editKinds(this.site, this.shape, run)) {
      results.set(kind.name, await this.#changes(indexes.map((index) => kind.edit(index))));
      for (const index of indexes) await this.#verify(kind, index);
    }
    return results;
  }

  async #changes(edits: readonly EditCall[]): Promise<Changes> {
    await delay(REST_MS);
    const before = runTime(this.site.process.pid);
    const milliseconds: number[] = [];
    for (const edit of edits) milliseconds.push(await this.#change(edit));
    await delay(REST_MS);
    return { milliseconds, cpu: (runTime(this.site.process.pid) - before) / edits.length };
  }

  async #change(edit: EditCall): Promise<number> {
    const start = performance.now();
    const { status, text } = await this.#api.send('POST', PATH, edit);
    if (status !== 200) throw new Error(`${edit.op} of ${edit.target}: status ${status} ${text.slice(0, 200)}`);
    return performance.now() - start;
  }

  async #verify({ name, seen }: EditKind, index: number): Promise<void> {
    if (seen === undefined) return;
    const { path, host } = seen.request(index);
    const { text } = await this.#web.send('GET', path, undefined, { Host: host });
    if (text !== seen.value) this.faults.push(`${name} ${index}: a request does not see it`);
  }

  close(): void {
    this.#api.close();
    this.#web.close();
  }
}
