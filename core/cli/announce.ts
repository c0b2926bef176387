import { within } from '../changes/time-limit.js';
import type { FirstStart } from '../master/helper.js';
import type { Master } from '../master/master.js';
import type { Console } from './console.js';

/** Helpers that need longer are not waited for. Milliseconds; a start takes one second of a machine that has nothing else to do. */
const HELPERS_MS = 30_000;

/** How the helpers start. Reports helpers that cannot, or take too long: the server goes on without them. */
export async function helpersStarted({ helpers }: Master, console: Console): Promise<readonly FirstStart[]> {
  const starts = await within(HELPERS_MS, helpers.firstStarts()).catch(() => {
    console.advise(`[warn] the helpers have not started within ${HELPERS_MS / 1000} s: the API is not available yet, see the error log`);
    return [];
  });
  for (const { name, reasons } of starts) for (const reason of reasons) console.advise(`[emerg] ${name}: ${reason}`);
  return starts;
}

/** Prints where the server listens and its `start_message`, in a terminal or with `npm start`. */
export function announce(master: Master, helpers: readonly FirstStart[]): void {
  if (!process.stdout.isTTY && process.env['npm_lifecycle_event'] !== 'start') return;
  const { addresses, main } = master;
  const lines = [`srv is ready: process ${process.pid}, ${main.worker_processes} ${main.worker_processes === 1 ? 'worker' : 'workers'}`];
  if (addresses.length > 0) lines.push(`traffic on ${addresses.join(', ')}`);
  for (const helper of helpers) if (helper.addresses.length > 0) lines.push(`${helper.name} on ${helper.addresses.join(', ')}`);
  process.stdout.write(`${[...lines, ...main.start_message].join('\n')}\n`);
}
