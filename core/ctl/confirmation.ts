import { CommandFailure, EXIT, usageFailure } from './failure.js';
import type { Terminal } from './top/run-top.js';

interface Asked {
  readonly terminal?: Terminal;
  stdout(text: string): void;
}

/** Asks on the terminal, and returns after `y`. @throws CommandFailure for another key, and where there is no terminal */
export async function confirm(effect: string, { terminal, ...output }: Asked): Promise<void> {
  if (terminal === undefined) throw usageFailure('this needs a confirmation: add --yes', effect);
  output.stdout(`${effect}\nGo on? [y/N] `);
  const key = await new Promise<string>((resolve) => {
    const end = terminal.keys((keys) => {
      end();
      resolve(keys.slice(0, 1));
    });
  });
  output.stdout('\n');
  if (key !== 'y' && key !== 'Y') throw new CommandFailure(EXIT.usage, 'nothing was done');
}
