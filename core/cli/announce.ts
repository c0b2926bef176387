import { within } from '../control/time-limit.js';
import type { FirstStart } from '../master/helper.js';
import type { Master } from '../master/master.js';
import type { Console } from './console.js';

/** Helpers that need longer are not waited for. */
const HELPERS_MS = 5000;

/** How the helpers start, and a word on those that cannot: the server goes on without them. Nothing if they take too long. */
export async function helpersStarted({ helpers }: Master, console: Console): Promise<readonly FirstStart[]> {
  const starts = await within(HELPERS_MS, helpers.firstStarts()).catch(() => []);
  for (const { name, reasons } of starts) for (const reason of reasons) console.advise(`[emerg] ${name}: ${reason}`);
  return starts;
}

/** Tells whoever started the server in a terminal, or with `npm start`, where it listens and what `start_message` says. */
export function announce(master: Master, helpers: readonly FirstStart[]): void {
  if (!process.stdout.isTTY && process.env['npm_lifecycle_event'] !== 'start') return;
  const { addresses, main } = master;
  const lines = [`srv is ready: process ${process.pid}, ${main.worker_processes} ${main.worker_processes === 1 ? 'worker' : 'workers'}`];
  if (addresses.length > 0) lines.push(`traffic on ${addresses.join(', ')}`);
  for (const helper of helpers) if (helper.addresses.length > 0) lines.push(`${helper.name} on ${helper.addresses.join(', ')}`);
  process.stdout.write(`${[...lines, ...main.start_message].join('\n')}\n`);
}
