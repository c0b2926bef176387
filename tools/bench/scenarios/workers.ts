import { planCores } from '../cores.js';
import type { Lab } from '../lab.js';
import { load } from '../load.js';
import { withSite } from '../running-site.js';
import type { Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { OWN_ANSWER } from '../site.js';

const CONNECTIONS = 128;

export const workersScenario: Scenario = {
  name: 'workers',
  title: 'Two workers against one',
  how: `1 KB that the server answers by itself, keep-alive, ${CONNECTIONS} connections; a core for each worker, the load has the others, the same for both runs. Through a backend, load and backend together are the limit of four cores.`,
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
    const shape = { url: `${site.origin}${OWN_ANSWER}`, connections: CONNECTIONS, cores: cores.load };
    await load(lab, { ...shape, seconds: lab.pace.warmUpSeconds });
    const result = await load(lab, { ...shape, seconds: lab.pace.seconds });
    faults.push(...result.faults);
    return result.requests / result.seconds;
  });
}
