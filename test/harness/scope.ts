import test, { type ExecutionContext } from 'ava';

/** The owner of started things, which end with it: a test, or with {@link fileScope} all tests of a file. */
export interface Scope extends Pick<ExecutionContext, 'teardown'> {
  /** Of a test: whether nothing has failed so far. */
  readonly passed: boolean;
  /** Of what tests share: `show` is called each time one of them fails. */
  onFailure?(show: () => void): void;
}

/** Ends with the last test of the file. Called at the top of a file, because hooks can be declared only there. */
export function fileScope(): Scope {
  const ends: (() => unknown)[] = [];
  const shows: (() => void)[] = [];
  test.afterEach.always((t) => {
    if (!t.passed) for (const show of shows) show();
  });
  test.after.always('what the tests of this file share ends', async (t) => {
    const failures: unknown[] = [];
    for (const end of ends.toReversed()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    t.deepEqual(failures, []);
  });
  return {
    teardown: (end) => void ends.push(end),
    passed: true,
    onFailure: (show) => void shows.push(show),
  };
}

/** Something for the tests of a file that do not disturb each other: started for the first that asks, ended after the last. */
export function shared<T>(start: (scope: Scope) => Promise<T>): () => Promise<T> {
  const scope = fileScope();
  let started: Promise<T> | undefined;
  return () => (started ??= start(scope));
}

/**
 * For tests that mostly wait: all cases are run at the same time, when the first test asks for the result of one. Things that they start end after
 * the last test of the file.
 */
export function together<Case, Result>(
  cases: readonly Case[],
  run: (scope: Scope, one: Case) => Promise<Result>,
): (one: Case) => Promise<Result> {
  const scope = fileScope();
  const running = new Map<Case, Promise<Result>>();
  return async (asked) => {
    if (running.size === 0) {
      for (const one of cases) {
        const result = run(scope, one);
        // A failure is that of the test that awaits it.
        result.catch(() => undefined);
        running.set(one, result);
      }
    }
    const result = running.get(asked);
    if (result === undefined) throw new Error('a case of another list');
    return result;
  };
}
