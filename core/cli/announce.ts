import type { Master } from '../master/master.js';

/** Tells whoever started the server in a terminal, or with `npm start`, where it listens and what `start_message` says. */
export function announce(master: Master): void {
  if (!process.stdout.isTTY && process.env['npm_lifecycle_event'] !== 'start') return;
  const { addresses, main } = master;
  const lines = [`srv is ready, process ${process.pid}, ${main.worker_processes} ${main.worker_processes === 1 ? 'worker' : 'workers'}`];
  if (addresses.length > 0) lines.push(`listening on ${addresses.join(', ')}`);
  process.stdout.write(`${[...lines, ...main.start_message].join('\n')}\n`);
}
