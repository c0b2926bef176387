/** Which calls of a transaction are to blame when all of them together cannot take effect. */
import { ConfigErrors, configErrorsOf, type ConfigError } from '../config/errors.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ApiError } from '../contract/control.js';
import { asApiError } from './api-errors.js';
import { EarlierText } from './earlier-text.js';
import { callOf } from './parse-directive.js';
import type { StagedChange } from './staged-change.js';

export interface JointChange {
  readonly change: StagedChange;
  /** Of the transaction. */
  readonly number: number;
  readonly registry: SpecRegistry;
  /** See {@link asApiError}. */
  readonly folders: readonly string[] | undefined;
  /** True if a part of the change could take effect. */
  readonly isPossible: (part: ReturnType<StagedChange['upTo']>) => Promise<boolean>;
}

/**
 * Errors of the configuration by call: that of the text they are in; for those in other text the first call that cannot take effect
 * together with those before it.
 * @throws what was thrown, if it is about no call: a worker that does not respond, a full disk
 */
export async function failuresByCall(thrown: unknown, joint: JointChange): Promise<ReadonlyMap<number, { readonly error: ApiError }>> {
  const errors = configErrorsOf(thrown);
  if (errors === undefined) throw thrown;
  const failures = new Map<number, ConfigError[]>();
  const elsewhere: ConfigError[] = [];
  for (const error of errors) {
    const call = error.source && callOf(error.source, joint.number);
    if (call === undefined) elsewhere.push(error);
    else failures.set(call, [...(failures.get(call) ?? []), error]);
  }
  if (elsewhere.length > 0) {
    const first = Math.min(...failures.keys(), await firstFailing(joint));
    failures.set(first, [...(failures.get(first) ?? []), ...elsewhere]);
  }
  const { placeOf } = new EarlierText(joint.number, joint.change.tree, joint.registry);
  return new Map(
    Array.from(failures, ([call, own]) => [call, { error: asApiError(new ConfigErrors(own), joint.folders, placeOf) as ApiError }]),
  );
}

async function firstFailing({ change, isPossible }: JointChange): Promise<number> {
  let [low, high] = [0, change.steps.at(-1)?.call ?? 0];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isPossible(change.upTo(middle))) low = middle + 1;
    else high = middle;
  }
  return low;
}
