import type { FileContents } from '../config/input-files.js';
import { ConfigErrors, configErrorsOf, type ConfigError } from '../config/errors.js';
import type { TreeOperation } from '../config/tree.js';
import type { Log } from '../module/services.js';
import { inForceEverywhere } from './in-force.js';
import { ParticipantGone, type Participant } from './participant.js';
import { unavailable } from './rpc-messages.js';
import { TimeIsOver, within } from './time-limit.js';

interface Failure {
  readonly participant: Participant;
  readonly error: unknown;
}

/** One transaction in all workers: every one is ready, or none does anything. One that died does not count. */
export class WorkerRound {
  #ready: readonly Participant[] = [];

  constructor(
    private readonly tx: number,
    private readonly participants: readonly Participant[],
    private readonly log: Log,
  ) {}

  /** @throws ConfigErrors with the reasons of all workers; ApiError 503 when one did not answer within `ms` milliseconds */
  async prepare(operations: readonly TreeOperation[], ms: number, rereads: boolean, files?: FileContents): Promise<void> {
    const failures: Failure[] = [];
    const text = this.participants.length > 0 ? JSON.stringify(operations) : '';
    const ready = await Promise.all(
      this.participants.map((participant) =>
        within(ms, participant.prepare(this.tx, text, rereads, files)).then(
          () => [participant],
          (error: unknown) => {
            if (!(error instanceof ParticipantGone)) failures.push({ participant, error });
            return [];
          },
        ),
      ),
    );
    if (failures.length > 0) throw this.#refusal(failures);
    this.#ready = ready.flat();
  }

  /** Puts it in force in those that are ready. @throws ApiError 503 when one is late, see {@link inForceEverywhere} */
  async commit(ms: number): Promise<void> {
    await inForceEverywhere(this.#ready, ms, (participant) => participant.commit(this.tx));
  }

  abort(): void {
    for (const participant of this.participants) participant.abort(this.tx);
  }

  #refusal(failures: readonly Failure[]): unknown {
    const mistakes = new Map<string, ConfigError>();
    for (const { error, participant } of failures) {
      // Workers mostly have the same reasons.
      for (const mistake of configErrorsOf(error) ?? []) mistakes.set(JSON.stringify([mistake.message, mistake.source]), mistake);
      if (!(error instanceof TimeIsOver)) continue;
      this.log.write('error', `${participant.name} did not prepare a change in time`);
      participant.suspect();
    }
    if (mistakes.size > 0) return new ConfigErrors([...mistakes.values()]);
    const other = failures.find(({ error }) => !(error instanceof TimeIsOver));
    return other?.error ?? unavailable('did not prepare the change in time; nothing was changed');
  }
}
