import type { Figures, Scenario } from './scenario.js';
import { type Spread, spread } from './statistics.js';

/** Results of one server in one round. */
export interface Sample {
  readonly server: string;
  readonly round: number;
  readonly figures: Figures;
  /** Why the figures are worth nothing; empty when they are good. */
  readonly faults: readonly string[];
}

/** All rounds of one measurement. */
export interface Result {
  readonly scenario: Scenario;
  /** Why nothing was measured. */
  readonly skipped?: string;
  readonly samples: readonly Sample[];
}

/** The servers of a result in the order they were measured. */
export function serversOf(result: Result): string[] {
  return [...new Set(result.samples.map((sample) => sample.server))];
}

/** The rounds of one server without faults. */
export function goodSamples(result: Result, server: string): Sample[] {
  return result.samples.filter((sample) => sample.server === server && sample.faults.length === 0);
}

/** A server's figure over its good rounds. */
export function figureSpread(result: Result, server: string, key: string): Spread | undefined {
  return spread(goodSamples(result, server).flatMap((sample) => sample.figures[key] ?? []));
}

/**
 * A server's figure divided by that of another in the same round, over the rounds in which both are good. Disturbances of the machine
 * affect both, so the median of these ratios is steadier than the ratio of the medians.
 */
export function ratioSpread(result: Result, server: string, other: string, key: string): Spread | undefined {
  const others = new Map(goodSamples(result, other).map((sample) => [sample.round, sample.figures[key]]));
  const ratios = goodSamples(result, server).flatMap((sample) => {
    const own = sample.figures[key];
    const theirs = others.get(sample.round);
    return own === undefined || theirs === undefined || theirs === 0 ? [] : [own / theirs];
  });
  return spread(ratios);
}

/** Every fault of a server, each text once with the rounds it came up in. */
export function faultsOf(result: Result, server: string): string[] {
  const rounds = new Map<string, number[]>();
  for (const sample of result.samples) {
    if (sample.server !== server) continue;
    for (const fault of sample.faults) rounds.set(fault, [...(rounds.get(fault) ?? []), sample.round]);
  }
  return [...rounds].map(([fault, list]) => `${fault} (round ${[...new Set(list)].join(', ')})`);
}
