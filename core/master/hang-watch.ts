/** Seconds without a response after which a thread or process is considered to hang. */
const HANG_STEPS = 10;
/** How often each thread and process is asked. */
export const WATCH_MS = 5000;

/** Whether a thread or a process hangs: it is asked for a sign of life, which everything that is not in an endless loop gives at once. */
export class HangWatch {
  #question: NodeJS.Timeout | undefined;

  /** @param send sends a ping; call {@link responded} when the response arrives */
  constructor(
    private readonly send: () => void,
    private readonly onHang: (reason: string) => void,
  ) {}

  /** Sends a ping, unless a response is due already. */
  ask(): void {
    if (this.#question !== undefined) return;
    // In steps: where the whole process stood still (a paused machine) no more than one of them has passed, and nobody hangs.
    let left = HANG_STEPS;
    this.#question = setInterval(() => {
      if (--left === 0) this.onHang(`it hangs: no response for ${HANG_STEPS} s`);
    }, 1000);
    this.send();
  }

  /** It lives, or is gone. */
  responded(): void {
    clearInterval(this.#question);
    this.#question = undefined;
  }
}
