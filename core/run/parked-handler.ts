/** The continuation of a handler that has returned a promise. */
export interface ParkedHandler {
  /** The wait that limits it; undefined: something else does. */
  readonly wait: { end(): void } | undefined;
  /** False: the request or the session has gone on without the handler, or is over. Nothing that the handler does has an effect then. */
  isAwaited(): boolean;
  resume(result: unknown): void;
  fail(thrown: unknown): void;
}

/**
 * Continues when the promise of a handler has settled. Only handlers that wait get here: the others cost no promise and no closure.
 * An exception of the continuation is the handler's failure.
 */
export function whenSettled(promise: Promise<unknown>, parked: ParkedHandler): void {
  promise.then(
    (result) => {
      if (goesOn(parked)) resume(parked, result);
    },
    (error: unknown) => {
      if (goesOn(parked)) parked.fail(error);
    },
  );
}

function resume(parked: ParkedHandler, result: unknown): void {
  try {
    parked.resume(result);
  } catch (error) {
    parked.fail(error);
  }
}

function goesOn(parked: ParkedHandler): boolean {
  parked.wait?.end();
  return parked.isAwaited();
}
