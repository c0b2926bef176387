import { ConfigErrors, configErrorsOf, type ConfigError } from '../config/errors.js';
import type { TreeOperation } from '../config/tree.js';
import type { Log } from '../contract/log.js';
import { inForceEverywhere } from './in-force.js';
import { ParticipantGone, type ChangeInputs, type Participant } from './participant.js';
import { unavailable } from './unavailable.js';
import { TimeIsOver, within } from './time-limit.js';

interface Failure {
  readonly participant: Participant;
  readonly error: unknown;
}

/** Result of the change in one worker. */
type Outcome = 'ready' | Failure;

/** Workers that may die before they begin to prepare a change, when they are the first to get it. */
const CHANCE_DEATHS = 1;

/**
 * One transaction in all workers: every one is ready, or none does anything.
 *
 * One worker prepares first, the others when it is ready: a change whose code hangs or ends a thread costs one worker, which is replaced,
 * and never all of them. Later on a worker that dies does not count.
 */
export class WorkerRound {
  #ready: readonly Participant[] = [];

  constructor(
    private readonly tx: number,
    private readonly participants: readonly Participant[],
    private readonly log: Log,
    /** Where a module is loaded, for a message; empty: not known. */
    private readonly lineOf: (module: string) => string = () => '',
  ) {}

  /** @throws ConfigErrors with the reasons of all workers; ApiError 503 when one did not respond within `ms` milliseconds */
  async prepare(operations: readonly TreeOperation[], ms: number, inputs: ChangeInputs): Promise<void> {
    const text = this.participants.length > 0 ? JSON.stringify(operations) : '';
    const until = performance.now() + ms;
    const prepare = (participant: Participant): Promise<Outcome> =>
      within(until - performance.now(), participant.prepare(this.tx, text, inputs)).then(
        () => 'ready',
        (error: unknown) => ({ participant, error }),
      );
    const others = [...this.participants];
    const first = await this.#proven(others, prepare);
    const outcomes = await Promise.all(others.map(prepare));
    const failures = outcomes.filter((outcome) => outcome !== 'ready').filter(({ error }) => !(error instanceof ParticipantGone));
    if (failures.length > 0) throw this.#refusal(failures);
    this.#ready = [...first, ...others.filter((_, at) => outcomes[at] === 'ready')];
  }

  /**
   * Finds out with one worker whether the change can be prepared at all.
   * @param others loses the ones that have tried
   * @returns the one that is ready; empty when there are no workers
   */
  async #proven(others: Participant[], prepare: (participant: Participant) => Promise<Outcome>): Promise<readonly Participant[]> {
    for (let deaths = 0; ;) {
      const participant = others.shift();
      if (participant === undefined) return [];
      const outcome = await prepare(participant);
      if (outcome === 'ready') return [participant];
      const { error } = outcome;
      if (!(error instanceof ParticipantGone)) throw this.#refusal([outcome]);
      // It was asked to end, and has just done so.
      if (participant.leaving && !error.byChange) continue;
      if (!error.byChange && ++deaths <= CHANCE_DEATHS && others.length > 0) continue;
      const line = error.module === undefined ? '' : this.lineOf(error.module);
      const place = line === '' ? '' : `; ${line}`;
      throw unavailable(`lost ${participant.name} while it prepared the change (${error.message}); nothing was changed${place}`);
    }
  }

  /** Commits it in the workers that are ready. @throws ApiError 503 when one is late, see {@link inForceEverywhere} */
  async commit(ms: number): Promise<void> {
    await inForceEverywhere(this.#ready, ms, (participant) => participant.commit(this.tx));
  }

  abort(): void {
    for (const participant of this.participants) participant.abort(this.tx);
  }

  #refusal(failures: readonly Failure[]): unknown {
    const reasons = new Map<string, ConfigError>();
    for (const { error, participant } of failures) {
      // Workers mostly have the same reasons.
      for (const reason of configErrorsOf(error) ?? []) reasons.set(JSON.stringify([reason.message, reason.source]), reason);
      if (!(error instanceof TimeIsOver)) continue;
      this.log.write('error', `${participant.name} did not prepare a change in time`);
      participant.suspect();
    }
    if (reasons.size > 0) return new ConfigErrors([...reasons.values()]);
    const other = failures.find(({ error }) => !(error instanceof TimeIsOver));
    return other?.error ?? unavailable('did not prepare the change in time; nothing was changed');
  }
}
