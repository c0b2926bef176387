import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers } from './http-probe.js';
import type { Lab } from './lab.js';
import { lines, nginxOnly } from './nginx-config.js';
import { freePorts } from './ports.js';
import type { Started } from './processes.js';
import { OVER_HTTP2 } from './site.js';

export const SMALL_BODY = 1024;
export const LARGE_BODY = 10 * 2 ** 20;

export interface BackendShape {
  readonly cores: readonly number[];
  readonly workers: number;
  /** Addresses of the loopback interface to listen on, all on the same port. */
  readonly addresses: readonly string[];
}

export interface Backend {
  readonly port: number;
  /** Speaks HTTP/2 without TLS; 0: it speaks HTTP/1 only. */
  readonly http2Port: number;
  readonly process: Started;
}

/**
 * Starts the backend of the server under test: `/1k` and `/10m` are bodies of that size from memory, `/address` the
 * address of the backend that the request arrived at. It is nginx, or a small server in Node where nginx is missing.
 */
export async function startBackend(lab: Lab, shape: BackendShape): Promise<Backend> {
  const [port = 0, http2Port = 0] = await freePorts(2);
  const nginx = lab.programs.nginx?.path;
  const command = nginx === undefined ? nodeBackend(shape.addresses, port) : nginxBackend(lab, nginx, shape, [port, http2Port]);
  const process = lab.processes.start(command, { cores: shape.cores });
  await answers({ port, path: '/1k' }, process);
  return { port, http2Port: nginx === undefined ? 0 : http2Port, process };
}

function nodeBackend(addresses: readonly string[], port: number): string[] {
  return [process.execPath, fileURLToPath(new URL('node-backend.js', import.meta.url)), String(port), ...addresses];
}

function nginxBackend(lab: Lab, nginx: string, shape: BackendShape, [port, http2Port]: readonly [number, number]): string[] {
  const dir = lab.folder({
    'nginx.conf': lines([
      'daemon off;',
      'pid bench.pid;',
      'error_log error.log error;',
      `worker_processes ${shape.workers};`,
      'events { worker_connections 20000; }',
      'http {',
      ...nginxOnly,
      'access_log off;',
      'sendfile on;',
      'keepalive_timeout 3600s;',
      'keepalive_requests 1000000000;',
      'server {',
      ...shape.addresses.map((address) => `listen ${address}:${port}${shape.workers > 1 ? ' reuseport' : ''};`),
      `listen 127.0.0.1:${http2Port} http2;`,
      `root ${lab.dir};`,
      `location = ${OVER_HTTP2} { return 200 "${'x'.repeat(SMALL_BODY)}"; }`,
      `location = /1k { return 200 "${'x'.repeat(SMALL_BODY)}"; }`,
      'location = /address { return 200 $server_addr; }',
      '} }',
    ]),
  });
  const largeBody = join(lab.dir, '10m');
  if (!existsSync(largeBody)) writeFileSync(largeBody, Buffer.alloc(LARGE_BODY, 'x'));
  return [nginx, '-p', dir, '-e', 'error.log', '-c', 'nginx.conf'];
}
