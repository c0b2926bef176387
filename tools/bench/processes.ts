import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { processTree, readProcess, type ProcessStat } from './process-tree.js';

/** Raises the limit of open files as far as the system lets us, then becomes the program: the pid is the program's. */
const raiseFileLimit = ['/bin/sh', '-c', 'ulimit -Sn "$(ulimit -Hn)"; exec "$@"', 'sh'];

const STOP_TIMEOUT_MS = 5000;
/** How long its children may take to end after it. */
const CHILDREN_TIMEOUT_MS = 1000;
const KEPT_OUTPUT = 65536;

export interface StartOptions {
  /** Cores to run on; undefined leaves it to the system. */
  readonly cores?: readonly number[];
  /** Opens a channel for messages with a Node program. */
  readonly ipc?: boolean;
}

/** Seconds that a program of {@link Processes.run} may take at most, if nothing else is said. */
const RUN_SECONDS = 60;

/** A process that the benchmark started. */
export interface Started {
  readonly pid: number;
  readonly child: ChildProcess;
  /** The end of what it wrote to standard output and standard error. */
  readonly output: () => string;
}

/** Everything that the benchmark starts is started here, so that nothing outlives it. */
export class Processes {
  readonly #started = new Map<number, Started>();
  readonly #taskset: string | undefined;

  /** @param taskset path of taskset(1), or undefined when the processes cannot be bound to cores */
  constructor(taskset: string | undefined) {
    this.#taskset = taskset;
  }

  /** Starts a program. Throws when it cannot be started at all. */
  start(command: readonly string[], options: StartOptions = {}): Started {
    const binding = options.cores !== undefined && this.#taskset !== undefined ? [this.#taskset, '-c', options.cores.join(',')] : [];
    const [program = '', ...args] = [...raiseFileLimit, ...binding, ...command];
    // A group of its own, so that it can be ended with its children, and Ctrl-C reaches only the benchmark, which then ends it.
    const stdio = options.ipc === true ? (['ignore', 'pipe', 'pipe', 'ipc'] as const) : (['ignore', 'pipe', 'pipe'] as const);
    const child = spawn(program, args, { detached: true, stdio: [...stdio] });
    if (child.pid === undefined) throw new Error(`cannot start ${command[0]}`);
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-KEPT_OUTPUT);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    const started = { pid: child.pid, child, output: () => output };
    this.#started.set(child.pid, started);
    return started;
  }

  /**
   * Runs a program to its end and returns what it printed. Throws when it fails.
   * @param seconds after which it is killed, and has failed
   */
  async run(command: readonly string[], options: StartOptions = {}, seconds = RUN_SECONDS): Promise<string> {
    const started = this.start(command, options);
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      killTree(started.pid, processTree(started.pid));
    }, seconds * 1000);
    const [code] = (await once(started.child, 'close')) as [number | null];
    clearTimeout(limit);
    this.#started.delete(started.pid);
    if (isLate) throw new Error(`${command[0]} did not end within ${seconds} s: ${started.output().trim()}`);
    if (code !== 0) throw new Error(`${command[0]} ended with ${code ?? 'a signal'}: ${started.output().trim()}`);
    return started.output();
  }

  /**
   * Ends a process: first with the signal, after some seconds by force, with everything that it started.
   * @returns how many of its processes were still there a second after it had ended
   */
  async stop(started: Started, signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    const tree = processTree(started.pid);
    if (isRunning(started.child)) {
      const closed = once(started.child, 'exit');
      started.child.kill(signal);
      await Promise.race([closed, delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    }
    const left = await survivors(tree.filter((stat) => stat.pid !== started.pid));
    killTree(started.pid, tree);
    if (isRunning(started.child)) await once(started.child, 'exit');
    this.#started.delete(started.pid);
    return left;
  }

  /** Ends all at once by force. Synchronous, so that it can run while the benchmark exits. */
  killAll(): void {
    for (const { pid } of this.#started.values()) killTree(pid, processTree(pid));
    this.#started.clear();
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function survivors(children: readonly ProcessStat[]): Promise<number> {
  const deadline = performance.now() + CHILDREN_TIMEOUT_MS;
  while (children.some(isSame) && performance.now() < deadline) await delay(10);
  return children.filter(isSame).length;
}

function isSame(stat: ProcessStat): boolean {
  return readProcess(stat.pid)?.startTime === stat.startTime;
}

function killTree(leader: number, tree: readonly ProcessStat[]): void {
  kill(-leader);
  for (const stat of tree) if (isSame(stat)) kill(stat.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already, which is what we want.
  }
}
