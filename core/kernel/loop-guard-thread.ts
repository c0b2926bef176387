/**
 * Entry of the thread of a {@link LoopGuard}. It stops the main thread as a debugger does, looks at what runs there, and ends it only if that
 * began in the code of a module: code of srv itself may take long, and would be left half done.
 */
import { Session, type Debugger } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import type { LoopGuardStart } from './loop-guard.js';

const PROGRAM = new URL('../../', import.meta.url).href;

class MainThreadWatch {
  /** The last beat of the main thread. */
  #beat = 0;

  constructor(private readonly start: LoopGuardStart) {
    // Replies need an event loop, which would end without work.
    setInterval(() => undefined, 2 ** 30);
  }

  /** Waits until the main thread does not turn its event loop, which counts. */
  watch(): void {
    const { beats, ms } = this.start;
    do this.#beat = Atomics.load(beats, 0);
    while (Atomics.wait(beats, 0, this.#beat, ms) !== 'timed-out');
    this.#stop();
  }

  /** Connected for as long as it takes: a process waits for its debuggers when it ends. */
  #stop(): void {
    const main = new Session();
    main.connectToMainThread();
    const urls = new Map<string, string>();
    main.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => void urls.set(scriptId, url));
    main.once('Debugger.paused', ({ params: { callFrames } }) => {
      const stillTurns = Atomics.load(this.start.beats, 0) !== this.#beat;
      if (!stillTurns && isOfModule(callFrames, urls)) main.post('Runtime.terminateExecution');
      main.post('Debugger.resume');
      main.post('Debugger.disable', () => {
        main.disconnect();
        this.watch();
      });
    });
    main.post('Debugger.enable');
    main.post('Debugger.pause');
  }
}

/** @param frames the last one called first */
function isOfModule(frames: readonly Debugger.CallFrame[], urls: ReadonlyMap<string, string>): boolean {
  const files = frames.map(({ location }) => urls.get(location.scriptId) ?? '').filter((url) => url.startsWith('file:'));
  const began = files.at(-1);
  return began !== undefined && !began.startsWith(PROGRAM);
}

new MainThreadWatch(workerData as LoopGuardStart).watch();
