import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from './lab.js';
import type { Result, Sample } from './results.js';
import type { Scenario } from './scenario.js';
import type { ServerKind } from './servers.js';
import { Turns } from './turns.js';

/** Seconds that a scenario has for one server, if it does not say. */
const MEASURE_SECONDS = 600;

export interface RoundsOptions {
  readonly servers: readonly ServerKind[];
  readonly rounds: number;
  /** Gets messages, a line at a time. */
  readonly progress: (line: string) => void;
}

/**
 * Measures every server in turn, as often as there are rounds: A B C, B C A, C A B. Whatever disturbs the machine for a while
 * disturbs all of them. A measurement that fails becomes a sample with a fault; the others go on.
 */
export async function measureRounds(lab: Lab, scenario: Scenario, options: RoundsOptions): Promise<Result> {
  const skipped = scenario.obstacle(lab) ?? (options.servers.length === 0 ? 'no server that can do it' : undefined);
  if (skipped !== undefined) return { scenario, skipped, samples: [] };
  const samples: Sample[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    const turns = new Turns();
    const measure = async (server: ServerKind): Promise<void> => {
      const sample = await measureOnce(lab, scenario, server, round, turns);
      samples.push(sample);
      options.progress(progressLine(scenario, sample, options.rounds));
    };
    const servers = rotate(options.servers, round - 1);
    if (scenario.sideBySide === true) await Promise.all(servers.map(measure));
    else for (const server of servers) await measure(server);
  }
  return { scenario, samples: inOrder(samples, options.servers) };
}

async function measureOnce(lab: Lab, scenario: Scenario, server: ServerKind, round: number, turns: Turns): Promise<Sample> {
  const faults: string[] = [];
  const sample = { server: server.name, round };
  try {
    const figures = await inTime(lab, scenario.limitSeconds ?? MEASURE_SECONDS, scenario.measure(lab, server, faults, turns));
    return { ...sample, figures, faults: faults.map((fault) => forReport(fault, lab)) };
  } catch (error) {
    const texts = [error instanceof Error ? error.message : String(error), ...faults];
    return { ...sample, figures: {}, faults: texts.map((fault) => forReport(fault, lab)) };
  }
}

/** Throws when the measurement does not end in time; what it started is killed, and what it waits for is waited for no longer. */
async function inTime<T>(lab: Lab, seconds: number, measurement: Promise<T>): Promise<T> {
  const limit = new AbortController();
  const late = delay(seconds * 1000, undefined, { signal: limit.signal }).then(() => {
    lab.processes.killAll();
    throw new Error(`did not end within ${seconds} s`);
  });
  try {
    return await Promise.race([measurement, late]);
  } finally {
    // The one that comes last fails unseen: the limit because it is not needed, or the measurement because its processes are gone.
    for (const promise of [late, measurement]) promise.catch(() => undefined);
    limit.abort();
  }
}

/** On one line, and without the name of the temporary folder, which differs from run to run. */
function forReport(fault: string, lab: Lab): string {
  return fault.replaceAll(`${lab.dir}/`, '').replaceAll(/\s+/g, ' ');
}

function progressLine(scenario: Scenario, sample: Sample, rounds: number): string {
  const figures = scenario.columns.flatMap(({ key, title, unit, digits }) => {
    const value = sample.figures[key];
    return value === undefined ? [] : [`${title} ${value.toFixed(digits)}${unit === '' ? '' : ` ${unit}`}`];
  });
  const faults = sample.faults.map((fault) => `INVALID: ${fault}`);
  return `${scenario.name.padEnd(8)}${sample.round}/${rounds}  ${sample.server.padEnd(16)}${[...figures, ...faults].join(', ')}`;
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const start = by % Math.max(list.length, 1);
  return [...list.slice(start), ...list.slice(0, start)];
}

function inOrder(samples: readonly Sample[], servers: readonly ServerKind[]): Sample[] {
  return servers.flatMap(({ name }) => samples.filter((sample) => sample.server === name));
}
