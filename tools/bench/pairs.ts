import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Lab } from './lab.js';
import { type RunningSite, withSite } from './running-site.js';
import { installedServers, type ServerKind, srvServer } from './servers.js';
import { median, spread } from './statistics.js';
import { table } from './table.js';
import {
  drive,
  loadFaults,
  serversWithout,
  siteFaults,
  type Traffic,
  trafficNamed,
  trafficObstacle,
  trafficShape,
  workOf,
} from './traffic.js';
import { type CpuTime, cpuTime, runTime, usedSince } from './usage.js';

/** Seconds of one load. A pair is four of them, in this order: ours, other, other, ours. */
const TURN_SECONDS = { full: 2, quick: 1 };

/** Processor seconds after which a server is warm; so many loads at most. */
const WARM_SECONDS = { full: 5, quick: 1 };
const MOST_WARM_UPS = 5;

export interface PairsOptions {
  /** Name of a {@link Traffic}. */
  readonly name: string;
  readonly pairs: number;
  /** Folder of another build of srv, which is measured in the place of nginx. */
  readonly base: string | undefined;
  readonly quick: boolean;
  /** Gets messages, a line at a time. */
  readonly progress: (line: string) => void;
}

/** Processor time for a unit of work (a request, a GiB) in seconds, of each server. */
export interface Pair {
  readonly ours: number;
  readonly other: number;
  /** The same apart, as the system counts it: coarser. */
  readonly apart?: { readonly ours: CpuTime; readonly other: CpuTime };
}

/** Work of one load, and the processor time that its server used for it. */
export interface Turn {
  /** Requests, or GiB. */
  readonly work: number;
  /** Seconds. */
  readonly cpu: number;
  readonly apart: CpuTime;
}

/**
 * Measures one kind of load in pairs: srv and another server stay up side by side and are loaded in turn, so that a machine that becomes
 * slower changes both figures of a pair, and not their ratio. Throws if it cannot be measured here.
 * @returns the report, and reasons why the figures are worthless
 */
export async function measurePairs(lab: Lab, options: PairsOptions): Promise<{ text: string; faults: readonly string[] }> {
  const traffic = trafficNamed('--pairs', options.name);
  const other = otherServer(lab, traffic, options.base);
  const obstacle = trafficObstacle(lab, traffic);
  if (obstacle !== undefined) throw new Error(obstacle);

  const seconds = options.quick ? TURN_SECONDS.quick : TURN_SECONDS.full;
  const faults: string[] = [];
  const measureTurn = async (site: RunningSite): Promise<Turn> => {
    const { pid } = site.process;
    const before = { run: runTime(pid), apart: cpuTime(pid) };
    const load = await drive(lab, traffic, site, seconds);
    faults.push(...loadFaults(traffic, load));
    return { work: workOf(traffic, load), cpu: runTime(pid) - before.run, apart: usedSince(before.apart, pid) };
  };
  const shape = trafficShape(traffic);
  const pairs = await withSite(lab, srvServer(), shape, faults, (ours) =>
    withSite(lab, other, shape, faults, async (theirs) => {
      for (const site of [ours, theirs]) {
        faults.push(...(await siteFaults(traffic, site)));
        await warmUp(lab, traffic, site, options.quick);
      }
      return alternate(options.pairs, { ours: () => measureTurn(ours), other: () => measureTurn(theirs) }, (pair, number) =>
        options.progress(progressLine(traffic, pair, `${number}/${options.pairs}`, other.name)),
      );
    }),
  );
  return { text: describePairs(pairs, traffic, other.name), faults };
}

/** By processor time: where others use the processor as well, a server is still compiling its code after seconds of load. */
async function warmUp(lab: Lab, traffic: Traffic, site: RunningSite, quick: boolean): Promise<void> {
  const seconds = quick ? WARM_SECONDS.quick : WARM_SECONDS.full;
  for (let loads = 0; loads < MOST_WARM_UPS && runTime(site.process.pid) < seconds; loads++) {
    await drive(lab, traffic, site, lab.pace.warmUpSeconds);
  }
}

/** Takes turns A B B A: what changes steadily meanwhile, such as the clock of the processor, adds as much to both. */
export async function alternate(
  count: number,
  measure: { readonly ours: () => Promise<Turn>; readonly other: () => Promise<Turn> },
  onPair: (pair: Pair, number: number) => void,
): Promise<Pair[]> {
  const pairs: Pair[] = [];
  while (pairs.length < count) {
    const first = await measure.ours();
    const others = [await measure.other(), await measure.other()];
    const ours = [first, await measure.ours()];
    const apart = { ours: apartPerUnit(ours), other: apartPerUnit(others) };
    const pair = { ours: perUnit(ours), other: perUnit(others), apart };
    pairs.push(pair);
    onPair(pair, pairs.length);
  }
  return pairs;
}

/** Table of the pairs, with the median and the least and greatest of their ratios. */
export function describePairs(pairs: readonly Pair[], traffic: Traffic, other: string): string {
  const shown = (value: number): string => figure(traffic, value);
  const rows = pairs.map((pair, index) => [String(index + 1), shown(pair.ours), shown(pair.other), ratioOf(pair).toFixed(3)]);
  const middle = ['median', shown(median(pairs.map(({ ours }) => ours))), shown(median(pairs.map((pair) => pair.other)))];
  const ratios = spread(pairs.map(ratioOf));
  const unit = traffic.per === 'GiB' ? 's' : 'µs';
  return [
    `${traffic.title}: CPU per ${traffic.per} [${unit}], in pairs`,
    table(['pair', 'srv', other, 'ratio'], [...rows, [...middle, ratios?.median.toFixed(3) ?? '–']]),
    ...describeApart(pairs, traffic, other),
    `ratio to ${other}: median ${ratios?.median.toFixed(3)}, least ${ratios?.min.toFixed(3)}, greatest ${ratios?.max.toFixed(3)}`,
  ].join('\n\n');
}

function otherServer(lab: Lab, traffic: Traffic, base: string | undefined): ServerKind {
  if (base !== undefined) {
    const entry = ['dist/core/cli/srv.js', 'core/cli/srv.js'].map((path) => join(resolve(base), path)).find(existsSync);
    if (entry === undefined) throw new Error(`--base: there is no build of srv in ${base}, run \`npm run build\` there`);
    return { ...srvServer([], entry), name: 'base' };
  }
  const nginx = installedServers(lab.programs).find(({ name }) => name === 'nginx');
  if (nginx === undefined || serversWithout(traffic).includes('nginx')) throw new Error(`no nginx here that can do ${traffic.name}`);
  return nginx;
}

function perUnit(turns: readonly Turn[]): number {
  const cpu = turns.reduce((sum, turn) => sum + turn.cpu, 0);
  return cpu / turns.reduce((sum, turn) => sum + turn.work, 0);
}

function apartPerUnit(turns: readonly Turn[]): CpuTime {
  const work = turns.reduce((sum, turn) => sum + turn.work, 0);
  const of = (part: keyof CpuTime): number => turns.reduce((sum, { apart }) => sum + apart[part], 0) / work;
  return { user: of('user'), system: of('system') };
}

/** Medians of user and system time. Empty: they were not measured. */
function describeApart(pairs: readonly Pair[], traffic: Traffic, other: string): readonly string[] {
  const measured = pairs.flatMap(({ apart }) => (apart === undefined ? [] : [apart]));
  if (measured.length === 0) return [];
  const row = (server: 'ours' | 'other', name: string): string => {
    const of = (part: keyof CpuTime): string => figure(traffic, median(measured.map((apart) => apart[server][part])));
    return `${name}: user ${of('user')}, system ${of('system')}`;
  };
  return [`${row('ours', 'srv')}; ${row('other', other)} (medians, in steps of 10 ms)`];
}

function ratioOf(pair: Pair): number {
  return pair.ours / pair.other;
}

function figure(traffic: Traffic, seconds: number): string {
  return traffic.per === 'GiB' ? seconds.toFixed(2) : (seconds * 1e6).toFixed(1);
}

function progressLine(traffic: Traffic, pair: Pair, position: string, other: string): string {
  const [ours, theirs] = [figure(traffic, pair.ours), figure(traffic, pair.other)];
  return `${traffic.name} ${position}  srv ${ours}, ${other} ${theirs}, ratio ${ratioOf(pair).toFixed(3)}`;
}
