import { setTimeout } from 'node:timers/promises';

/** Between the beginnings of two events, and from the end of one to the next at least. Milliseconds. */
const INTERVAL = 1000;
const PAUSE = 100;
/** Asks clients to reconnect after a second (HTML, 9.2.6). */
const HELLO = 'retry: 1000\n\n';

/**
 * The statistics as server-sent events, one a second. The next one is made when the client has taken the one before: nothing is kept for a slow one, and
 * nothing is done without a reader.
 * @param frame makes the JSON of one event, in pieces @param leaving aborted when streams have to end
 */
export async function* statisticsStream(frame: () => AsyncIterable<string>, leaving: AbortSignal): AsyncGenerator<string> {
  try {
    yield HELLO;
    while (!leaving.aborted) {
      const began = performance.now();
      yield 'data: ';
      yield* frame();
      yield '\n\n';
      await setTimeout(Math.max(INTERVAL - (performance.now() - began), PAUSE), undefined, { signal: leaving });
    }
  } catch {
    // The server ends, or cannot be reached: clients come back, and drop an event that has no end.
  }
}
