import type { FileContents } from '../config/granted-files.js';
import type { ModuleShare } from '../config/module-share.js';

/** Parts of a change beside its operations. */
export interface ChangeInputs {
  /** Files that directives name may have changed. */
  readonly rereads: boolean;
  /** Files that the master has read for this change. */
  readonly files: FileContents;
  /** The modules of the change; undefined: they stay as they are. */
  readonly modules: ModuleShare | undefined;
}

/**
 * A thread that follows the configuration: one worker as the master sees it. Messages to it arrive in the order of the calls.
 */
export interface Participant {
  /** For the log: `worker 2`. */
  readonly name: string;
  /** It has to end, and does so when its last requests are over. */
  readonly leaving: boolean;
  /**
   * Makes everything ready for the change without any effect on traffic.
   * @param operations in JSON: the same text for all is made once and copied as it is, which objects are not
   * @param inputs what the master has made the change of
   * @throws ConfigErrors (or any error with its reasons) when the thread cannot; {@link ParticipantGone} when it died.
   */
  prepare(tx: number, operations: string, inputs: ChangeInputs): Promise<void>;
  /** Commits the prepared change. Rejects only with {@link ParticipantGone}. */
  commit(tx: number): Promise<void>;
  /** Forgets the change. Needs no response; also called while `prepare` is still under way. */
  abort(tx: number): void;
  /** Hands `data` to the replica of `channel` in that thread (see `Replica`); resolves when it has taken it. Rejects only with {@link ParticipantGone}. */
  publish(channel: string, data: unknown): Promise<void>;
  /** It was late: it is replaced if it hangs, and left alone if it was merely slow. */
  suspect(): void;
}

/** The thread ended. Its replacement starts from the tree then active, so for a transaction it does not count any more. */
export class ParticipantGone extends Error {
  /**
   * @param byChange it hung, or it died while it prepared a change
   * @param module whose code it hung in
   */
  constructor(
    name: string,
    reason?: string,
    readonly byChange = false,
    readonly module?: string,
  ) {
    super(reason === undefined ? `${name} is gone` : `${name} is gone: ${reason}`);
  }
}

/** State of the master that every worker keeps a copy of: a snapshot goes with the start of a worker, `publish` carries what changes. */
export interface Replicated {
  readonly channel: string;
  /** Structured-cloneable. */
  snapshot(): unknown;
}

/** The copy of a {@link Replicated} in one worker. */
export interface Replica {
  readonly channel: string;
  load(snapshot: unknown): void;
  take(data: unknown): void;
}
