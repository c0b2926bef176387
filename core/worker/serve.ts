/** Entry of a worker thread. */
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { ErrorLog } from '../log/error-log.js';
import { AppendedLogFiles } from '../log/log-files.js';
import { LifeSigns } from './life-signs.js';
import { OpenDescriptors } from '../net/transport/open-descriptors.js';
import type { WorkerData } from './protocol.js';
import { WorkerThread } from './worker-thread.js';

const start = workerData as WorkerData;
const signs = new LifeSigns(start.signs);
signs.begin();
if (!parentPort) throw new Error('this file is the entry of a worker thread');
const files = new AppendedLogFiles();
const log = new ErrorLog(files, `${process.pid}#${threadId}`, [{ path: start.errorLog, level: 'notice' }]);

const worker = new WorkerThread(start, parentPort, log, files, signs, new OpenDescriptors(start.descriptors));
process.on('uncaughtException', (error) => worker.fail('exception', error));
process.on('unhandledRejection', (reason) => worker.fail('rejection', reason));
process.once('exit', () => files.flush());
await worker.run();
