/**
 * A real server for the tests of a module: traffic and control plane, several workers, free ports of 127.0.0.1, a folder of its own.
 *
 * ```ts
 * const srv = await startSrv({ modules: [MODULE], server: 'location / { greeting hello; }' });
 * t.after(() => srv.stop());
 * assert.equal((await srv.get('/')).body, 'hello');
 * ```
 *
 * In every text `%%PORT_name%%` is a free port, the same one wherever the name occurs, and `%%PREFIX%%` the folder.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type AskOptions, type Response } from './ask.js';
import { openConnection, type TestConnection } from './connection.js';
import { reservePort, type ReservedPort } from './free-port.js';
import { openResponse, type OpenResponse } from './open-response.js';
import { CONTROL, siteFiles, WEB, type Site } from './site.js';

export type { ControlSite, Site } from './site.js';

const SRV = resolve(import.meta.dirname, '../core/cli/srv.js');
const TIMEOUT_MS = 30_000;

type SpawnedSrv = ChildProcessByStdio<null, Readable, Readable>;

/** A server that is running. */
export class TestServer {
  #output = '';
  readonly #ended: Promise<void>;

  /** @param child the process, started in `prefix` */
  constructor(
    private readonly folder: SiteFolder,
    private readonly child: SpawnedSrv,
  ) {
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    this.#ended = new Promise((done) => child.once('close', () => done()));
  }

  /** The folder that it runs in. */
  get prefix(): string {
    return this.folder.prefix;
  }

  /** Number of the port that `%%PORT_name%%` stands for: of the first server without a name. */
  port(name = WEB): number {
    return this.folder.port(name);
  }

  /** Sends a request to the first server, or to the port of `options.port`. */
  get(path: string, options: AskOptions & { readonly port?: string } = {}): Promise<Response> {
    return ask(this.port(options.port), path, options);
  }

  /** As {@link get}, but resolves with the head of the response: its body is received while it comes. */
  open(path: string, options: AskOptions & { readonly port?: string } = {}): Promise<OpenResponse> {
    return openResponse(this.port(options.port), path, options);
  }

  /** Connects to `%%PORT_name%%` over TCP. */
  connect(name = WEB): Promise<TestConnection> {
    return openConnection(this.port(name));
  }

  /** Process id of its main thread. */
  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('the server could not be spawned');
    return pid;
  }

  /** Ends it gracefully (QUIT): resolves when its last request is over and it is gone. {@link stop} checks and cleans up then. */
  async quit(): Promise<void> {
    this.child.kill('SIGQUIT');
    await this.#ended;
  }

  /** Calls the REST API: `api('POST', '/v1/kv', { key: 'a', value: 'b' })`. `json` of the response is its parsed body, if it is JSON. */
  async api(method: string, path: string, body?: unknown): Promise<Response & { readonly json: unknown }> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await ask(this.port(CONTROL), `/api${path}`, { method, headers, ...sent });
    const isJson = /^application\/json\b/.test(response.headers['content-type'] ?? '');
    return { ...response, json: isJson ? JSON.parse(response.body) : undefined };
  }

  /** Its log so far. */
  log(): string {
    return this.folder.read('logs/error.log');
  }

  /** Resolves with the match when the log has `pattern`. @throws Error after 30 seconds */
  waitForLog(pattern: RegExp): Promise<RegExpExecArray> {
    return waitFor(`${String(pattern)} in the log:\n${this.log()}`, () => pattern.exec(this.log()) ?? undefined);
  }

  /**
   * Applies a configuration, without an argument the same again. Resolves when it is active.
   * @throws Error with the lines of the log, when it is rejected
   */
  async reload(site?: Site): Promise<void> {
    if (site !== undefined) await this.folder.write(site);
    const before = this.log().length;
    this.child.kill('SIGHUP');
    const said = await waitFor('the end of the reload', () => {
      const lines = this.log().slice(before);
      return /: (?:reconfigured|the current configuration stays as it was)$/m.test(lines) ? lines : undefined;
    });
    if (!/: reconfigured$/m.test(said)) throw new Error(`the reload failed:\n${said}`);
    if (site?.control !== undefined) await this.#untilApi();
  }

  /**
   * Ends it, and removes its folder.
   * @param options.expectCrash the test makes something crash
   * @throws Error with the lines of the log that say that something went uncaught, or a process died
   */
  async stop({ expectCrash = false }: { readonly expectCrash?: boolean } = {}): Promise<void> {
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
    const crashes = this.log().match(/^.*(?:\[alert\]|uncaught).*$/gm);
    this.folder.remove();
    if (crashes !== null && !expectCrash) throw new Error(`the server logged:\n${crashes.join('\n')}`);
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Resolves when it serves. @throws Error with what it says, when it ends instead */
  async ready(hasControl: boolean): Promise<void> {
    await waitFor('the pid file', () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended before it was ready:\n${this.#output}`);
      return this.folder.read('logs/srv.pid').trim() === String(this.child.pid);
    });
    if (hasControl) await this.#untilApi();
  }

  #untilApi(): Promise<boolean> {
    return waitFor(`the API:\n${this.log()}`, () =>
      this.api('GET', '/v1/openapi.json').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  }
}

/** Starts a server. Resolves when it serves, and its API if it has one. @throws Error with what it says, when it does not start */
export async function startSrv(site: Site): Promise<TestServer> {
  const folder = new SiteFolder();
  await folder.write(site);
  const child = spawnIn(folder, []);
  // A test process that ends without `stop` leaves nothing.
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  const server = new TestServer(folder, child);
  try {
    await server.ready(site.control !== undefined);
  } catch (error) {
    await server.stop().catch(() => undefined);
    throw error;
  }
  return server;
}

/** Output of `srv -t` for a configuration. */
export interface Checked {
  readonly ok: boolean;
  readonly output: string;
}

/** Checks a configuration without starting it. */
export async function checkConf(site: Site): Promise<Checked> {
  const folder = new SiteFolder();
  try {
    await folder.write(site);
    const child = spawnIn(folder, ['-t']);
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const status = await new Promise((done) => child.once('close', done));
    return { ok: status === 0, output };
  } finally {
    folder.remove();
  }
}

function spawnIn({ prefix }: SiteFolder, args: readonly string[]): SpawnedSrv {
  return spawn(process.execPath, [SRV, '-p', prefix, '-c', 'conf/srv.conf', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The folder of a server, and its ports. */
class SiteFolder {
  readonly prefix = mkdtempSync(join(tmpdir(), 'srv-testing-'));
  readonly #ports = new Map<string, ReservedPort>();

  port(name: string): number {
    const port = this.#ports.get(name)?.port;
    if (port === undefined) throw new Error(`no %%PORT_${name}%% in the configuration`);
    return port;
  }

  read(path: string): string {
    const file = join(this.prefix, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async write(site: Site): Promise<void> {
    for (const [path, text] of siteFiles(site)) {
      const file = join(this.prefix, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, await this.#filled(text));
    }
  }

  remove(): void {
    rmSync(this.prefix, { recursive: true, force: true });
    for (const reserved of this.#ports.values()) reserved.release();
  }

  async #filled(text: string): Promise<string> {
    for (const [, name = ''] of text.matchAll(/%%PORT_(\w+)%%/g)) {
      if (!this.#ports.has(name)) this.#ports.set(name, await reservePort());
    }
    return text.replaceAll('%%PREFIX%%', this.prefix).replace(/%%PORT_(\w+)%%/g, (_, name: string) => String(this.port(name)));
  }
}

async function waitFor<T>(what: string, probe: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const end = Date.now() + TIMEOUT_MS;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${TIMEOUT_MS / 1000} s in vain for ${what}`);
    await sleep(10);
  }
}
