import { systemErrorText } from '../contract/system-error.js';
import type { Log } from '../contract/log.js';
import type { ReloadState } from './reload-file.js';

/** Counts reloads, and says how they went. */
export class ReloadRecord {
  #received = 0;
  #done = 0;
  #failure = '';

  /** @param write see {@link writeReloadFile} */
  constructor(
    private readonly write: (state: Omit<ReloadState, 'pid'>) => void,
    private readonly log: Log,
  ) {}

  /** The signal is here. @returns to be called with the reasons, empty if there are none */
  begin(): (failure: string) => void {
    const number = ++this.#received;
    this.#tell();
    return (failure) => {
      this.#done = number;
      this.#failure = failure;
      this.#tell();
    };
  }

  #tell(): void {
    try {
      this.write({ received: this.#received, done: this.#done, failure: this.#failure });
    } catch (error) {
      this.log.write('error', `how the reload went cannot be written beside the pid file (${systemErrorText(error)})`);
    }
  }
}
