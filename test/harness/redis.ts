import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { findProgram, testWith } from './programs.js';
import { freePort } from './ports.js';
import type { Scope } from './scope.js';
import { tempFolder } from './temp.js';
import { waitFor } from './wait.js';

/** `test` where Redis is installed. */
export const testRedis = testWith('redis-server');

/** A real Redis on a port of its own, with nothing on disk by default. */
export class RedisServer {
  #process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    readonly folder: string,
    private readonly args: readonly string[],
  ) {}

  /** @param args further arguments of redis-server */
  static async start(t: Scope, ...args: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(t), tempFolder(t), args);
    t.teardown(() => server.kill());
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    const address = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder];
    const program = findProgram('redis-server') ?? 'redis-server';
    this.#process = spawn(program, [...address, '--save', '', '--appendfsync', 'always', '--repl-diskless-sync-delay', '0', ...this.args], {
      stdio: 'ignore',
    });
    await waitFor('redis-server', () =>
      this.cli('PING').then(
        (reply) => /PONG|NOAUTH/.test(reply),
        () => false,
      ),
    );
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    const server = this.#process;
    this.#process = undefined;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal);
  }

  /** See {@link askRedis}. */
  cli(...command: readonly string[]): Promise<string> {
    return askRedis(this.port, ...command);
  }
}

/** The beginning of the reply to a command, as it was sent. */
export function askRedis(port: number, ...command: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', reject);
    // A server that becomes a replica closes its connections.
    socket.once('close', () => reject(new Error('no reply')));
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.write(`*${command.length}\r\n${command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
  });
}
