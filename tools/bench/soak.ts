import { readdirSync } from 'node:fs';
import type { Lab } from './lab.js';
import { type RunningSite, withSite } from './running-site.js';
import { srvServer } from './servers.js';
import { table } from './table.js';
import { drive, type Traffic, trafficObstacle, traffics } from './traffic.js';
import { residentBytes } from './usage.js';

/** Each kind of load in turn for as long. */
const TURN_SECONDS = 5;
/** Part of the time in which a server still fills its pools and compiles its code. */
const WARM_UP = 1 / 3;
/** Shorter runs show figures and judge nothing: pools and compiled code still grow. */
const LEAST_MINUTES = 5;
/** Growth that cannot be distinguished from the noise of the garbage collector, in MiB an hour. */
const NOISE = 60;

/** Resources of a server at one moment. */
export interface Look {
  /** Minutes since the start. */
  readonly minute: number;
  /** MiB, resident. */
  readonly memory: number;
  readonly descriptors: number;
}

/** @returns the slope of a line through the points (least squares) */
export function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x0, y0] = [mean(({ x }) => x), mean(({ y }) => y)];
  const spread = points.reduce((sum, { x }) => sum + (x - x0) ** 2, 0);
  return points.reduce((sum, { x, y }) => sum + (x - x0) * (y - y0), 0) / spread;
}

/** Growth in MiB an hour, once the server is warm. */
export function growth(looks: readonly Look[]): number {
  const warm = looks.slice(Math.floor(looks.length * WARM_UP));
  return slope(warm.map(({ minute, memory }) => ({ x: minute / 60, y: memory })));
}

/**
 * Loads srv with all kinds of traffic in turn and says how its memory and its descriptors develop.
 * @returns the report, and whether memory grows
 */
export async function soak(
  lab: Lab,
  minutes: number,
  say: (line: string) => void,
): Promise<{ readonly text: string; readonly grows: boolean }> {
  const loads = traffics.filter(
    (traffic) => traffic.tls !== true && traffic.streams === undefined && trafficObstacle(lab, traffic) === undefined,
  );
  if (loads.length === 0) throw new Error('wrk is missing');
  const faults: string[] = [];
  const looks = await withSite(lab, srvServer(), {}, faults, (site) => run(lab, site, loads, { minutes, faults, say }));
  const perHour = growth(looks);
  const isJudged = minutes >= LEAST_MINUTES;
  const grows = isJudged && perHour > NOISE;
  const rows = looks.map(({ minute, memory, descriptors }) => [minute.toFixed(1), memory.toFixed(1), String(descriptors)]);
  const lines = [
    table(['minute', 'memory [MiB]', 'descriptors'], rows),
    '',
    `growth after the first third: ${perHour.toFixed(1)} MiB an hour${grows ? ': MEMORY GROWS' : isJudged ? '' : `; run it for ${LEAST_MINUTES} minutes at least to tell growth from warming up`}`,
    ...[...new Set(faults)].map((fault) => `INVALID: ${fault}`),
  ];
  return { text: lines.join('\n'), grows: grows || faults.length > 0 };
}

interface Course {
  readonly minutes: number;
  readonly faults: string[];
  readonly say: (line: string) => void;
}

async function run(lab: Lab, site: RunningSite, loads: readonly Traffic[], { minutes, faults, say }: Course): Promise<Look[]> {
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) / 60_000;
  const looks: Look[] = [];
  while (elapsed() < minutes) {
    for (const traffic of loads) faults.push(...(await drive(lab, traffic, site, TURN_SECONDS)).faults);
    const look = { minute: elapsed(), memory: residentBytes(site.process.pid) / 2 ** 20, descriptors: openDescriptors(site.process.pid) };
    looks.push(look);
    say(`${look.minute.toFixed(1)} min  ${look.memory.toFixed(1)} MiB  ${look.descriptors} descriptors`);
  }
  return looks;
}

function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
