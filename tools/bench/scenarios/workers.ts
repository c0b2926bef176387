import { planCores } from '../cores.js';
import type { Lab } from '../lab.js';
import { load } from '../load.js';
import { withSite } from '../running-site.js';
import type { Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';

const CONNECTIONS = 128;

export const workersScenario: Scenario = {
  name: 'workers',
  title: 'Two workers against one',
  how: `1 KB keep-alive, ${CONNECTIONS} connections; a core for each worker, load and backend share the others, the same for both runs.`,
  columns: [
    { key: 'scaling', title: 'two / one', unit: '×', digits: 2 },
    { key: 'one', title: 'requests/s, one', unit: '', digits: 0 },
    { key: 'two', title: 'requests/s, two', unit: '', digits: 0 },
  ],
  obstacle: (lab) => {
    if (lab.programs.wrk === undefined) return 'wrk is missing';
    return lab.cores.all.length < 4 ? 'needs four cores or more' : undefined;
  },
  measure: async (lab, server, faults) => {
    const one = await requestRate(lab, server, 1, faults);
    const two = await requestRate(lab, server, 2, faults);
    return { one, two, scaling: two / one };
  },
};

/** Requests a second. Load and backend get the same cores whatever the number of workers is. */
async function requestRate(lab: Lab, server: ServerKind, workers: number, faults: string[]): Promise<number> {
  const plan = planCores(lab.cores.all, 2);
  const cores = { ...plan, server: plan.server.slice(0, workers) };
  return withSite(lab, server, { workers, cores }, faults, async (site) => {
    const shape = { url: `${site.origin}/1k`, connections: CONNECTIONS, cores: cores.load };
    await load(lab, { ...shape, seconds: lab.pace.warmUpSeconds });
    const result = await load(lab, { ...shape, seconds: lab.pace.seconds });
    faults.push(...result.faults);
    return result.requests / result.seconds;
  });
}
