import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { programOf, type CommandLine } from '../upgrade/program.js';
import { UPGRADE_SOCKET } from '../upgrade/upgrade-mark.js';
import { activationOf } from './activation.js';
import { SUCCESSOR_MARK } from './marks.js';
import type { HeldSockets } from './held-sockets.js';
import type { GivenSocket } from './protocol.js';

/** Numbers of the standard streams and of the channel come first. */
const FIRST_SOCKET = 4;

/** Messages to the new parent at its start. */
export interface ParentInheritance {
  readonly sockets: readonly GivenSocket[];
}

/** Sockets of the parent that this process is to replace; none: there is no such parent. */
export async function inheritedSockets(): Promise<readonly GivenSocket[]> {
  if (process.env[SUCCESSOR_MARK] === undefined) return [];
  delete process.env[SUCCESSOR_MARK];
  const [message] = (await once(process, 'message')) as [ParentInheritance];
  return message.sockets;
}

/** Listener to the new parent. */
export interface SuccessorListener {
  said(text: string): void;
  ended(how: string): void;
}

/** The parent that takes the place of this one, with its server. */
export class SuccessorParent {
  readonly #child: ChildProcess;

  /** @param socket over which the servers of both speak */
  constructor(line: CommandLine, socket: string, sockets: Pick<HeldSockets, 'given' | 'passed'>, listener: SuccessorListener) {
    const { given, passed } = sockets;
    const { file, args, options } = programOf(line);
    this.#child = spawn(file, args, {
      ...options,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...[...given, ...passed].map(({ descriptor }) => descriptor)],
      serialization: 'advanced',
      env: { ...options.env, [UPGRADE_SOCKET]: socket, [SUCCESSOR_MARK]: '1', ...activationOf(passed, FIRST_SOCKET + given.length) },
    });
    this.#child.on('message', (message: { readonly say?: unknown }) => {
      if (typeof message.say === 'string') listener.said(message.say);
    });
    this.#child.once('error', (error) => listener.ended(`cannot be started: ${error.message}`));
    this.#child.once('exit', (code, signal) => listener.ended(signal === null ? `exited with code ${code}` : `was ended by ${signal}`));
    if (this.#child.pid === undefined) return;
    this.#child.send(
      { sockets: given.map((one, at) => ({ ...one, descriptor: FIRST_SOCKET + at })) } satisfies ParentInheritance,
      () => undefined,
    );
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** It stays when this process ends. */
  leave(): void {
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref();
  }
}
