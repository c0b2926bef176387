import { planCores } from '../cores.js';
import type { Lab } from '../lab.js';
import { load } from '../load.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { OWN_ANSWER } from '../site.js';
import { cpuSince, cpuTime } from '../usage.js';

const CONNECTIONS = 128;

/** Both sites run side by side and are loaded in turn: a machine whose speed changes from one moment to the next changes both alike. */
const TURN_SECONDS = 1;

export const workersScenario: Scenario = {
  name: 'workers',
  title: 'Two workers against one',
  how: `1 KB that the server sends itself, keep-alive, ${CONNECTIONS} connections; a core for each worker, the load has the others, the same for both. The two are loaded in turn, second by second. Through a backend, load and backend together are the limit of four cores.`,
  columns: [
    { key: 'scaling', title: 'two / one', unit: '×', digits: 2 },
    { key: 'one', title: 'requests/s, one', unit: '', digits: 0 },
    { key: 'two', title: 'requests/s, two', unit: '', digits: 0 },
    { key: 'oneBusy', title: 'core busy, one', unit: '%', digits: 0 },
    { key: 'twoBusy', title: 'cores busy, two', unit: '%', digits: 0 },
  ],
  obstacle: (lab) => {
    if (lab.programs.wrk === undefined) return 'wrk is missing';
    return lab.cores.all.length < 4 ? 'needs four cores or more' : undefined;
  },
  measure: (lab, server, faults) =>
    withWorkers(lab, server, 1, faults, (one) => withWorkers(lab, server, 2, faults, (two) => compare(lab, one, two, faults))),
};

/** Load and backend get the same cores whatever the number of workers is. */
function withWorkers(
  lab: Lab,
  server: ServerKind,
  workers: number,
  faults: string[],
  measure: (site: RunningSite) => Promise<Figures>,
): Promise<Figures> {
  const plan = planCores(lab.cores.all, 2);
  return withSite(lab, server, { workers, cores: { ...plan, server: plan.server.slice(0, workers) } }, faults, measure);
}

async function compare(lab: Lab, one: RunningSite, two: RunningSite, faults: string[]): Promise<Figures> {
  const [first, second] = [new Turns(lab, one, faults), new Turns(lab, two, faults)];
  await first.run(lab.pace.warmUpSeconds);
  await second.run(lab.pace.warmUpSeconds);
  first.forget();
  second.forget();
  for (let measured = 0; measured < lab.pace.seconds; measured += TURN_SECONDS) {
    await first.run(TURN_SECONDS);
    await second.run(TURN_SECONDS);
  }
  return { scaling: second.rate / first.rate, one: first.rate, two: second.rate, oneBusy: first.busy, twoBusy: second.busy };
}

/** Sums up what one site did in its turns. */
class Turns {
  #requests = 0;
  #seconds = 0;
  #cpu = 0;

  constructor(
    readonly lab: Lab,
    readonly site: RunningSite,
    readonly faults: string[],
  ) {}

  async run(seconds: number): Promise<void> {
    const { load: cores } = planCores(this.lab.cores.all, 2);
    const before = cpuTime(this.site.process.pid);
    const result = await load(this.lab, { url: `${this.site.origin}${OWN_ANSWER}`, connections: CONNECTIONS, seconds, cores });
    this.#cpu += cpuSince(before, this.site.process.pid);
    this.#requests += result.requests;
    this.#seconds += result.seconds;
    this.faults.push(...result.faults);
  }

  forget(): void {
    this.#requests = this.#seconds = this.#cpu = 0;
  }

  get rate(): number {
    return this.#requests / this.#seconds;
  }

  /** Percent of one core. */
  get busy(): number {
    return (this.#cpu / this.#seconds) * 100;
  }
}
