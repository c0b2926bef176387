/** Bytes that the system passes on in one step: at most, to begin with, and to a target that does not keep up, for which memory holds the rest. */
const MOST = 524_288;
const FIRST = 131_072;
const LEAST = 65_536;
/** Whole steps in a row after which a target is trusted with larger ones: memory for the rest of a step costs more than many steps save. */
const WHOLE_STEPS = 4;

/** Size of the next step of what a connection passes on without reading it (`Connection.passTo`): larger as long as the target keeps up. */
export class PassedSize {
  bytes = FIRST;
  #wholeSteps = 0;

  /** @param isWhole the target has accepted all of the step */
  adapt(count: number, isWhole: boolean): void {
    if (!isWhole) {
      this.bytes = Math.max(this.bytes / 2, LEAST);
      this.#wholeSteps = 0;
    } else if (count === this.bytes && ++this.#wholeSteps === WHOLE_STEPS) {
      this.bytes = Math.min(this.bytes * 2, MOST);
      this.#wholeSteps = 0;
    }
  }
}
