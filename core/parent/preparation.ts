import { fork } from 'node:child_process';
import { once } from 'node:events';
import { UPGRADE_SOCKET } from '../upgrade/upgrade-mark.js';
import { PREPARE_MARK } from './marks.js';
import type { ParentStart, PreparedServer } from './protocol.js';

/** Reading a configuration takes no longer. */
const LONGEST_MS = 30_000;

/**
 * Reads the configuration as it is now, as root and in a process of its own, which ends at once: nothing of it is parsed in this one.
 * @throws Error
 */
export async function prepareAgain({ command, user }: ParentStart): Promise<PreparedServer> {
  const [script = '', ...args] = command;
  const child = fork(script, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    // A parent that has replaced another one still has the socket of that upgrade.
    env: { ...process.env, [UPGRADE_SOCKET]: undefined, [PREPARE_MARK]: `${user.uid}:${user.gid}` },
    timeout: LONGEST_MS,
  });
  const ended = once(child, 'exit').then(() => undefined);
  const prepared = once(child, 'message').then(([message]) => message as PreparedServer);
  const result = await Promise.race([prepared, ended.then(() => once(child, 'disconnect')).then(() => undefined)]);
  if (result === undefined) throw new Error('the configuration could not be read as root');
  return result;
}
