import { withSite } from '../running-site.js';
import type { Scenario } from '../scenario.js';
import { median } from '../statistics.js';

export const startUpScenario: Scenario = {
  name: 'start',
  title: 'Start-up',
  how: 'From the start of the process to its first answer through the proxy, on one core, with the configuration of the 1 KB measurement.',
  columns: [{ key: 'ms', title: 'time to first answer', unit: 'ms', digits: 0 }],
  compared: 'ms',
  obstacle: () => undefined,
  measure: async (lab, server, faults) => {
    const times: number[] = [];
    for (let i = 0; i < lab.pace.starts; i++) {
      times.push(await withSite(lab, server, {}, faults, async (site) => site.answeredAt - site.spawnedAt));
    }
    return { ms: median(times) };
  },
};
