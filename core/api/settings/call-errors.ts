import { ApiError } from '../../contract/control.js';

interface CallError {
  readonly status: number;
  readonly code: string;
  readonly pointer: string;
  readonly message: string;
}

/** Everything that is wrong with one call. */
export class CallErrors {
  readonly #errors: CallError[] = [];

  add(status: number, code: string, pointer: string, message: string): void {
    this.#errors.push({ status, code, pointer, message });
  }

  /** @throws ApiError with the status and code of the first one, and all of them in its details */
  throwIfAny(): void {
    const [first, ...others] = this.#errors;
    if (first === undefined) return;
    const more = others.length > 0 ? ` (and ${others.length} more)` : '';
    const details = this.#errors.slice(0, MOST).map(({ code, pointer, message }) => ({ pointer, message, code }));
    throw new ApiError(first.status, first.code, `${first.pointer}: ${first.message}${more}`, details);
  }
}

/** More than a person reads, as for the errors of a schema. */
const MOST = 200;
