import { within } from '../control/time-limit.js';
import type { Master } from '../master/master.js';

/** Helpers that need longer are not waited for. */
const HELPERS_MS = 5000;

/** What the helpers are and where they listen, once they do their work; nothing if they take too long. */
export function helpersAtWork({ helpers }: Master): ReturnType<Master['helpers']['ready']> {
  return within(HELPERS_MS, helpers.ready()).catch(() => []);
}

/** Tells whoever started the server in a terminal, or with `npm start`, where it listens and what `start_message` says. */
export async function announce(master: Master): Promise<void> {
  if (!process.stdout.isTTY && process.env['npm_lifecycle_event'] !== 'start') return;
  const { addresses, main } = master;
  const lines = [`srv is ready: process ${process.pid}, ${main.worker_processes} ${main.worker_processes === 1 ? 'worker' : 'workers'}`];
  if (addresses.length > 0) lines.push(`traffic on ${addresses.join(', ')}`);
  for (const helper of await helpersAtWork(master))
    if (helper.addresses.length > 0) lines.push(`${helper.name} on ${helper.addresses.join(', ')}`);
  process.stdout.write(`${[...lines, ...main.start_message].join('\n')}\n`);
}
