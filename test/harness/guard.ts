/**
 * Ends the servers of a test process that is killed itself (a time-out of the runner, Ctrl-C), where no teardown runs any more. A shell
 * waits at the other end of a pipe: it closes when this process ends, however it ends.
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

const SCRIPT = `
groups=' '
while read -r what group; do
  if [ "$what" = + ]; then groups="$groups$group "; else groups="\${groups%%" $group "*} \${groups#*" $group "}"; fi
done
for group in $groups; do kill -9 "-$group"; done 2>/dev/null
`;

class Guard {
  readonly #pipe: Socket;

  constructor() {
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.#pipe = shell.stdin as Socket;
    this.#pipe.on('error', () => undefined);
    shell.unref();
    this.#pipe.unref();
  }

  watch(group: number): void {
    this.#pipe.write(`+ ${group}\n`);
  }

  forget(group: number): void {
    this.#pipe.write(`- ${group}\n`);
  }
}

/** One for each test process. */
export const guard = new Guard();
