import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import { freePorts } from './ports.js';

/** `cluster_name` of the nodes. */
export const CLUSTER = 'bench';

export interface BenchRedis {
  readonly port: number;
  readonly pid: number;
  /** A temporary folder, which goes with it. */
  readonly folder: string;
}

/** A redis-server without data, on a free port of the loopback interface, until the work has ended. */
export async function withRedis<T>(work: (redis: BenchRedis) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'srv-cluster-'));
  const [port = 0] = await freePorts(1);
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''], { stdio: 'ignore' });
  const end = (): void => void server.kill('SIGKILL');
  process.once('exit', end);
  try {
    for (let tries = 0; !(await accepts(port)); tries++) {
      if (tries > 200) throw new Error('redis-server does not start');
      await delay(25);
    }
    return await work({ port, pid: server.pid ?? 0, folder });
  } finally {
    process.removeListener('exit', end);
    end();
    rmSync(folder, { recursive: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** The connection of a node that is made without a server. */
export function openConnection(port: number): BlockConnection {
  const connection = new BlockConnection('main');
  const address = { addresses: [{ host: '127.0.0.1', port }], socket: undefined, sentinel: undefined, isCluster: false, database: 0 };
  const limits = { prefix: 'srv', connectTimeout: 1000, commandTimeout: 1000, maxPending: 1000 };
  connection.open({ ...address, ...limits, user: undefined, password: undefined, tls: undefined }, CLUSTER);
  return connection;
}
