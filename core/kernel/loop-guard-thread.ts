/** Entry of the thread behind a {@link LoopGuard}. */
import { Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import type { LoopGuardStart } from './loop-guard.js';

const { beats, ms } = workerData as LoopGuardStart;
const main = new Session();
main.connectToMainThread();
// Returns at once while the main thread turns its event loop, which counts.
while (Atomics.wait(beats, 0, Atomics.load(beats, 0), ms) !== 'timed-out');
main.post('Runtime.terminateExecution');
