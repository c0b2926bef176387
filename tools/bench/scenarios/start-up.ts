import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from '../lab.js';
import { withSite } from '../running-site.js';
import type { Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { median } from '../statistics.js';
import { residentBytes, runTime } from '../usage.js';

/** Compared with a start with one. */
const MANY_WORKERS = 4;

interface Start {
  readonly ms: number;
  /** Milliseconds of processor time until it rests. */
  readonly cpu: number;
  /** MiB. */
  readonly memory: number;
}

export const startUpScenario: Scenario = {
  name: 'start',
  title: 'Start-up',
  how:
    'From the start of the process to its first response through the proxy, on one core, with the configuration of the 1 KB measurement; ' +
    `and what each of ${MANY_WORKERS - 1} further workers costs: processor time until the server rests, and resident memory.`,
  columns: [
    { key: 'ms', title: 'time to first response', unit: 'ms', digits: 0 },
    { key: 'many', title: `with ${MANY_WORKERS} workers`, unit: 'ms', digits: 0 },
    { key: 'cpu', title: 'CPU', unit: 'ms', digits: 0 },
    { key: 'eachCpu', title: 'CPU per further worker', unit: 'ms', digits: 0 },
    { key: 'eachMemory', title: 'memory per further worker', unit: 'MiB', digits: 1 },
  ],
  compared: 'ms',
  obstacle: () => undefined,
  measure: async (lab, server, faults) => {
    const one: Start[] = [];
    const many: Start[] = [];
    for (let i = 0; i < lab.pace.starts; i++) {
      one.push(await startOnce(lab, server, 1, faults));
      many.push(await startOnce(lab, server, MANY_WORKERS, faults));
    }
    const of = (starts: readonly Start[], key: keyof Start): number => median(starts.map((start) => start[key]));
    const perWorker = (key: keyof Start): number => (of(many, key) - of(one, key)) / (MANY_WORKERS - 1);
    return { ms: of(one, 'ms'), many: of(many, 'ms'), cpu: of(one, 'cpu'), eachCpu: perWorker('cpu'), eachMemory: perWorker('memory') };
  },
};

function startOnce(lab: Lab, server: ServerKind, workers: number, faults: string[]): Promise<Start> {
  // On the same core, whatever the number of workers is.
  return withSite(lab, server, { workers, cores: lab.cores }, faults, async (site) => {
    await delay(lab.pace.restSeconds * 1000);
    const { pid } = site.process;
    return { ms: site.answeredAt - site.spawnedAt, cpu: runTime(pid) * 1000, memory: residentBytes(pid) / 2 ** 20 };
  });
}
