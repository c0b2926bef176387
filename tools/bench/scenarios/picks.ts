import type { Figures, Scenario } from '../scenario.js';
import { PickStage, type Members } from '../pick-stage.js';

const FEW = 3;
const SOME = 10;
const MANY = 10_000;
/** Runs of each kind in turn, of which the fastest counts: what else the machine does only adds. */
const RUNS = 15;

const SESSION = 'create=$upstream_cookie_session lookup=$cookie_session zone=sessions:8m';

/** Every way in which members are chosen, by the name of its measurement. */
export const METHODS: Readonly<Record<string, string>> = {
  'round-robin': '',
  'least-conn': 'least_conn;',
  'least-time-header': 'least_time header;',
  'least-time-last-byte': 'least_time last_byte inflight;',
  'ip-hash': 'ip_hash;',
  hash: 'hash $arg_key;',
  'hash-consistent': 'hash $arg_key consistent;',
  random: 'random;',
  'random-two': 'random two;',
  'random-two-least-time': 'random two least_time=last_byte;',
  'sticky-cookie': 'sticky cookie route;',
  'sticky-route': 'sticky route $cookie_route;',
  'sticky-learn': `sticky learn ${SESSION};`,
  'app-sticky': 'app_sticky zone=app:8m cookie:session;',
};

/** Nanoseconds of a pick among so many members, for each kind of members. */
type Costs = Readonly<Record<Members, readonly [few: number, some: number, many: number]>>;

/** Measures one method. All sizes are measured in turn, so that a machine that changes its speed changes all alike. */
export async function pickCosts(method: string, runs = RUNS): Promise<Costs> {
  return {
    equal: await costsOf(method, 'equal', runs),
    weighted: await costsOf(method, 'weighted', runs),
    'half down': await costsOf(method, 'half down', runs),
  };
}

async function costsOf(method: string, members: Members, runs: number): Promise<[number, number, number]> {
  const stages = await Promise.all([FEW, SOME, MANY].map((count) => PickStage.make(method, count, members)));
  const best = stages.map(() => Infinity);
  for (let run = 0; run < runs; run++) for (const [at, stage] of stages.entries()) best[at] = Math.min(best[at]!, stage.run());
  return best as [number, number, number];
}

export const pickScenarios: readonly Scenario[] = Object.entries(METHODS).map(([name, method]) => ({
  name: `pick-${name}`,
  title: `Picking a member: ${name.replaceAll('-', ' ')}`,
  how:
    `In the process of the benchmark: a pick and the end of its request, among ${FEW}, ${SOME} and ${MANY} members; processor time, the ` +
    'fastest of several runs in turn. The ratios are those of the largest upstream to the smallest one: members alike, with weights of 1 to 5, and ' +
    'with half of them down.',
  columns: [
    { key: 'few', title: `${FEW} members`, unit: 'ns', digits: 0 },
    { key: 'some', title: `${SOME}`, unit: 'ns', digits: 0 },
    { key: 'many', title: `${MANY}`, unit: 'ns', digits: 0 },
    { key: 'equal', title: 'ratio', unit: '×', digits: 2 },
    { key: 'weighted', title: 'with weights', unit: '×', digits: 2 },
    { key: 'halfDown', title: 'half down', unit: '×', digits: 2 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: async (): Promise<Figures> => {
    const costs = await pickCosts(method);
    const [few, some, many] = costs.equal;
    return { few, some, many, equal: ratio(costs.equal), weighted: ratio(costs.weighted), halfDown: ratio(costs['half down']) };
  },
}));

const ratio = ([few, , many]: Costs[Members]): number => many / few;
