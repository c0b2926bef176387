import type { Lab } from '../lab.js';
import { load } from '../load.js';
import type { PacedReport } from '../paced-client.js';
import { PacedLoad } from '../paced-load.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import { median } from '../statistics.js';
import { runTime } from '../usage.js';

const CONNECTIONS = 64;
/** A server is loaded for as long before the next one has its turn. */
const TURN_SECONDS = 2;
/** A warm-up at full load lasts as many times as that of other measurements. */
const WARM_UPS = 3;

interface Part extends PacedReport {
  /** Seconds of processor time. */
  readonly cpu: number;
}

/** Requests a second: a server that is hardly busy, one that is partly busy, and about half of what one core can do. */
export const partLoadScenarios: readonly Scenario[] = [640, 2400, 9600].map((rate) => ({
  name: `${rate}rps`,
  title: `${rate.toLocaleString('en')} requests a second`,
  how: `${CONNECTIONS} connections, 1 KB from the backend, keep-alive; requests come one by one at random moments, as many a second for every server. Before, each is loaded with all that it can do: it has run for a while, and compiles no more code.`,
  columns: [
    { key: 'cpu', title: 'CPU per request', unit: 'µs', digits: 1 },
    { key: 'p99', title: 'p99', unit: 'ms', digits: 2 },
    { key: 'busy', title: 'core busy', unit: '%', digits: 1 },
  ],
  compared: 'cpu',
  sideBySide: true,
  obstacle: () => undefined,
  measure: (lab, server, faults, turns) =>
    withSite(lab, server, {}, faults, async (site) => {
      const client = new PacedLoad(lab, site.port, rate, CONNECTIONS);
      try {
        await turns.take(() => warmUp(lab, site));
        await turns.take(() => paced(client, site, lab.pace.warmUpSeconds));
        const parts: Part[] = [];
        for (let measured = 0; measured < lab.pace.seconds; measured += TURN_SECONDS) {
          parts.push(await turns.take(() => paced(client, site, TURN_SECONDS)));
        }
        for (const { failed } of parts) if (failed > 0) faults.push(`${failed} connections failed`);
        return figures(parts);
      } finally {
        await client.stop();
      }
    }),
}));

/** At these rates it would take minutes until a server with a compiler has compiled what runs. */
async function warmUp(lab: Lab, site: RunningSite): Promise<void> {
  if (lab.programs.wrk === undefined) return;
  const shape = { url: `${site.origin}/1k`, connections: CONNECTIONS, seconds: WARM_UPS * lab.pace.warmUpSeconds, cores: lab.cores.load };
  await load(lab, shape);
}

async function paced(client: PacedLoad, site: RunningSite, seconds: number): Promise<Part> {
  const before = runTime(site.process.pid);
  const report = await client.run(seconds);
  return { ...report, cpu: runTime(site.process.pid) - before };
}

function figures(parts: readonly Part[]): Figures {
  const sum = (of: (part: Part) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const cpu = sum((part) => part.cpu);
  return {
    cpu: (cpu * 1e6) / sum(({ requests }) => requests),
    p99: median(parts.map(({ p99 }) => p99)),
    busy: (cpu / (parts.length * TURN_SECONDS)) * 100,
  };
}
