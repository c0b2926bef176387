/** Entry of a worker thread. */
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { ErrorLog } from '../log/error-log.js';
import { AppendedLogFiles } from '../log/log-files.js';
import type { WorkerStart } from './protocol.js';
import { WorkerThread } from './worker-thread.js';

const start = workerData as WorkerStart;
if (!parentPort) throw new Error('this file is the entry of a worker thread');
const files = new AppendedLogFiles();
const log = new ErrorLog(files, `${process.pid}#${threadId}`, [{ path: start.errorLog, level: 'notice' }]);

// After an error nobody expected the state of this thread cannot be trusted. It ends, the master starts another one, and what the other
// workers do is not touched.
process.on('uncaughtException', (error) => end('exception', error));
process.on('unhandledRejection', (reason) => end('rejection', reason));
process.once('exit', () => files.flush());

function end(kind: string, reason: unknown): void {
  const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
  log.write('alert', `worker ${start.index}: uncaught ${kind}: ${text}`);
  process.exit(1);
}

await new WorkerThread(start, parentPort, log, files).run();
