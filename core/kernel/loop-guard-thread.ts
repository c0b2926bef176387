/**
 * Entry of the thread behind a {@link LoopGuard}. It stops the main thread as a debugger does, looks at what runs there, and ends it only if that
 * began in the code of a module: what srv does itself may take long, and would be left half done.
 */
import { Session, type Debugger } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import type { LoopGuardStart } from './loop-guard.js';

const PROGRAM = new URL('../../', import.meta.url).href;

class MainThreadWatch {
  readonly #main = new Session();
  readonly #urls = new Map<string, string>();
  /** The last beat of the main thread. */
  #beat = 0;
  #hasAsked = false;

  constructor(private readonly start: LoopGuardStart) {
    this.#main.connectToMainThread();
    this.#main.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => void this.#urls.set(scriptId, url));
    this.#main.on('Debugger.paused', ({ params: { callFrames } }) => this.#look(callFrames));
    // Replies need an event loop, which would end without work.
    setInterval(() => undefined, 2 ** 30);
  }

  /** Waits until the main thread does not turn its event loop, which counts. */
  watch(): void {
    const { beats, ms } = this.start;
    do this.#beat = Atomics.load(beats, 0);
    while (Atomics.wait(beats, 0, this.#beat, ms) !== 'timed-out');
    this.#hasAsked = true;
    this.#main.post('Debugger.enable');
    this.#main.post('Debugger.pause');
  }

  /** The main thread is stopped. */
  #look(frames: readonly Debugger.CallFrame[]): void {
    if (!this.#hasAsked) return;
    this.#hasAsked = false;
    const stillTurns = Atomics.load(this.start.beats, 0) !== this.#beat;
    if (!stillTurns && this.#isOfModule(frames)) this.#main.post('Runtime.terminateExecution');
    this.#main.post('Debugger.resume');
    this.#main.post('Debugger.disable', () => this.watch());
  }

  /** @param frames the last one called first */
  #isOfModule(frames: readonly Debugger.CallFrame[]): boolean {
    const files = frames.map(({ location }) => this.#urls.get(location.scriptId) ?? '').filter((url) => url.startsWith('file:'));
    const began = files.at(-1);
    return began !== undefined && !began.startsWith(PROGRAM);
  }
}

new MainThreadWatch(workerData as LoopGuardStart).watch();
