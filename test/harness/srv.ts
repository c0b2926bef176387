/**
 * The black-box harness: a real server with an inline configuration in a prefix of its own.
 *
 * ```ts
 * test('responds', async t => {
 *   const backend = await httpBackend(t, (_, response) => response.end('hello'));
 *   const srv = await startSrv(t, `
 *     events {}
 *     http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`);
 *   t.is((await get(srv.port('web'), '/')).body, 'hello');
 *   await srv.waitForLog(/something/);
 * });
 * ```
 *
 * - `%%PORT_name%%` becomes a free port, the same wherever the name is; `srv.port('name')` returns it. `%%PREFIX%%` is the prefix.
 * - It is started with `daemon off`. {@link startSrv} resolves when the pid file exists: every listener is open then.
 * - At the end of the test it is stopped with SIGTERM, and the test fails if any of its processes is left, or if it logged that a
 *   worker died or something went uncaught (`allowCrashes` for tests that crash it).
 * - {@link runSrv} is for runs that end by themselves: `-t`, `-v`, a rejected configuration.
 */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { guard } from './guard.js';
import { fillPlaceholders } from './placeholders.js';
import { tempFolder, writeInto } from './temp.js';
import { waitFor } from './wait.js';
import type { Scope } from './scope.js';

/** The compiled command. */
export const SRV = resolve(import.meta.dirname, '../../core/cli/srv.js');

export interface SrvOptions {
  /** More files below the prefix; placeholders are replaced in them as well. */
  readonly files?: Readonly<Record<string, string>>;
  /** Further command line arguments. */
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Options of Node.js. */
  readonly nodeOptions?: readonly string[];
  /** An existing prefix, for a second start in the same place. */
  readonly prefix?: string;
  /** The command of another installation. */
  readonly command?: string;
  /** Descriptors that it gets as if systemd had opened them, in this order: from 3 on. */
  readonly sockets?: readonly number[];
  /** Number of the user and group that it is started as. */
  readonly user?: number;
  /** The test makes workers crash: such log lines are expected. */
  readonly allowCrashes?: boolean;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Time that the end of a server may take on a busy machine. */
const END_MS = 40_000;
/** Lines of the error log that a failed test shows. */
const SHOWN_LINES = 40;

/** A running server. */
export class Srv {
  stdout = '';
  stderr = '';
  readonly exited: Promise<Exit>;

  constructor(
    readonly prefix: string,
    private readonly t: Scope,
    private readonly ports: Map<string, number>,
    private readonly child: ChildProcess,
  ) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    if (child.pid !== undefined) guard.watch(child.pid);
    this.exited = new Promise((done) => child.once('close', (code, signal) => done({ code, signal })));
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('the server could not be spawned');
    return pid;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The port that `%%PORT_name%%` stands for. */
  port(name: string): number {
    const port = this.ports.get(name);
    if (port === undefined) throw new Error(`no %%PORT_${name}%% in the configuration`);
    return port;
  }

  path(relative: string): string {
    return join(this.prefix, relative);
  }

  /** A file below the prefix; empty when it does not exist. */
  read(relative: string): string {
    const path = this.path(relative);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** The error log so far. */
  log(): string {
    return this.read('logs/error.log');
  }

  /** Prints the end of the error log, for a test that failed. */
  showLog(): void {
    const lines = this.log().trimEnd().split('\n').slice(-SHOWN_LINES);
    process.stderr.write(`the last lines of ${this.path('logs/error.log')}:\n${lines.join('\n')}\n`);
  }

  /** Resolves with the match when the error log (or another file below the prefix) holds `pattern`. */
  waitForLog(pattern: RegExp, relative = 'logs/error.log'): Promise<RegExpExecArray> {
    return waitFor(`${String(pattern)} in ${relative}`, () => pattern.exec(this.read(relative)) ?? undefined);
  }

  /** Replaces the configuration file. Takes effect with a reload: `srv.signal('SIGHUP')`. */
  async configure(conf: string, relative = 'conf/srv.conf'): Promise<void> {
    writeInto(this.prefix, relative, await fillPlaceholders(this.t, conf, this.prefix, this.ports));
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** Ends it and waits until it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.running) this.signal(signal);
    return this.exited;
  }

  /** True while a process of its group is alive: the server itself or a helper. */
  hasProcesses(): boolean {
    return groupIsAlive(this.pid);
  }
}

function groupIsAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts a server and waits until it is ready. Rejects with its output when it ends before that. */
export async function startSrv(t: Scope, conf: string, options: SrvOptions = {}): Promise<Srv> {
  const srv = await spawnSrv(t, conf, options);
  await waitFor('the pid file', () => {
    if (!srv.running) throw new Error(`the server ended before it was ready:\n${srv.stderr}\n${srv.log()}`);
    return srv.read('logs/srv.pid').trim() === String(srv.pid);
  });
  return srv;
}

/** It names the process that the sockets are for. */
const AS_SYSTEMD = 'export LISTEN_PID=$$; exec "$0" "$@"';

function spawnAs(
  { sockets = [], user, env }: SrvOptions,
  args: readonly string[],
  more: { detached?: boolean } = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const called = [process.execPath, ...args];
  const [file = '', ...others] = sockets.length === 0 ? called : ['sh', '-c', AS_SYSTEMD, ...called];
  return spawn(file, others, {
    ...more,
    stdio: ['ignore', 'pipe', 'pipe', ...sockets],
    // Without a cache of the runner's it uses that of the bundle, which was filled by a server at work.
    env: { ...process.env, NODE_COMPILE_CACHE: undefined, ...(sockets.length > 0 && { LISTEN_FDS: String(sockets.length) }), ...env },
    ...(user !== undefined && { uid: user, gid: user }),
  }) as ChildProcessByStdio<null, Readable, Readable>;
}

/** Starts a server and does not wait. */
export async function spawnSrv(t: Scope, conf: string, options: SrvOptions = {}): Promise<Srv> {
  const prefix = options.prefix ?? tempFolder(t);
  const ports = new Map<string, number>();
  for (const [path, content] of Object.entries({ 'conf/srv.conf': conf, ...options.files })) {
    writeInto(prefix, path, await fillPlaceholders(t, content, prefix, ports));
  }
  // A group of its own, so that the test can see whether any process of it is left.
  const { nodeOptions = [], command = SRV, args = [] } = options;
  const child = spawnAs(options, [...nodeOptions, command, '-p', prefix, '-c', 'conf/srv.conf', ...daemonOff(conf, args)], {
    detached: true,
  });
  const srv = new Srv(prefix, t, ports, child);
  t.teardown(() => tearDown(t, srv, options.allowCrashes ?? false));
  t.onFailure?.(() => srv.showLog());
  return srv;
}

function daemonOff(conf: string, args: readonly string[]): readonly string[] {
  return /^\s*daemon\s/m.test(conf) || args.includes('-g') ? args : [...args, '-g', 'daemon off;'];
}

/** @throws Error for what is left, and for what a server must not log */
async function tearDown(t: Scope, srv: Srv, allowCrashes: boolean): Promise<void> {
  if (srv.running) srv.signal('SIGTERM');
  const timer = setTimeout(() => process.kill(-srv.pid, 'SIGKILL'), END_MS);
  const { signal } = await srv.exited;
  clearTimeout(timer);
  const wasKilled = signal === 'SIGKILL' && !allowCrashes;
  const areGone = await waitFor('the end of every process of the server', () => !srv.hasProcesses(), END_MS).catch(() => false);
  if (!areGone) process.kill(-srv.pid, 'SIGKILL');
  guard.forget(srv.pid);
  const crash = /^.*(\[alert\]|uncaught).*$/m.exec(srv.log() + srv.stderr);
  if (!t.passed || wasKilled || !areGone) srv.showLog();
  if (wasKilled) throw new Error('the server did not end on SIGTERM and had to be killed');
  if (!areGone) throw new Error('the server is gone, but a process of it is left');
  if (crash && !allowCrashes) throw new Error(`the server logged: ${crash[0]}`);
}

export interface Run extends Exit {
  readonly stdout: string;
  readonly stderr: string;
  readonly prefix: string;
}

/** Runs `srv -p <prefix> <args>`, or `srv <command> <args> -p <prefix>`, to its end. `conf` is written to conf/srv.conf when given. */
export async function runSrv(t: Scope, args: readonly string[], conf?: string, options: SrvOptions = {}): Promise<Run> {
  const prefix = options.prefix ?? tempFolder(t);
  const files = { ...(conf === undefined ? {} : { 'conf/srv.conf': conf }), ...options.files };
  const ports = new Map<string, number>();
  for (const [path, content] of Object.entries(files)) writeInto(prefix, path, await fillPlaceholders(t, content, prefix, ports));
  const isCommand = args[0]?.startsWith('-') === false;
  const child = spawnAs(options, [SRV, ...(isCommand ? [...args, '-p', prefix] : ['-p', prefix, ...args])]);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  t.teardown(() => child.kill('SIGKILL'));
  return new Promise((done) => child.once('close', (code, signal) => done({ code, signal, stdout, stderr, prefix })));
}
