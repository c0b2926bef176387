import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { answers } from './http-probe.js';
import type { Lab } from './lab.js';
import { lines, nginxOnly } from './nginx-config.js';
import { freePorts } from './ports.js';
import type { Started } from './processes.js';
import { OVER_HTTP2, UPLOADS } from './site.js';

export const SMALL_BODY = 1024;
export const LARGE_BODY = 10 * 2 ** 20;

/** Paths of a text, and of the first compressed; the size of the texts is that of the name. */
export const TEXT_10K = '/text-10k';
export const TEXT_100K = '/text-100k';
export const PACKED_10K = '/packed-10k';

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
 * Starts the backend of the server under test: `/1k` and `/10m` are bodies of that size from memory, {@link TEXT_10K} and its like texts, `/address` the
 * address of the backend that the request arrived at. {@link UPLOADS} reads a body to its end before it responds. It is nginx, or a small server in Node where nginx is missing.
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
      `location = ${UPLOADS} {`,
      `proxy_pass http://127.0.0.1:${port}/1k; proxy_method GET; proxy_pass_request_body off; proxy_set_header Content-Length "";`,
      `client_max_body_size 0; client_body_buffer_size ${LARGE_BODY};`,
      '}',
      'location = /address { return 200 $server_addr; }',
      `location = ${PACKED_10K} { add_header Content-Encoding gzip; }`,
      '} }',
    ]),
  });
  if (!existsSync(join(lab.dir, '10m'))) writeBodies(lab.dir);
  return [nginx, '-p', dir, '-e', 'error.log', '-c', 'nginx.conf'];
}

function writeBodies(dir: string): void {
  writeFileSync(join(dir, '10m'), Buffer.alloc(LARGE_BODY, 'x'));
  writeFileSync(join(dir, TEXT_100K), text(102_400));
  writeFileSync(join(dir, TEXT_10K), text(10_240));
  writeFileSync(join(dir, PACKED_10K), gzipSync(text(10_240)));
}

/** A page as web applications make them, of which gzip leaves a fifth or less: the same in every run. */
function text(bytes: number): string {
  let page = '';
  let state = 1;
  const next = (): number => (state = (state * 48_271) % 2_147_483_647);
  while (page.length < bytes) {
    const [id, size] = [next() % 100_000, next() % 5000];
    page += `<li class="item item-${id % 7}"><a href="/products/${id}">Product ${id.toString(36)}</a> <span class="price">${size}</span></li>\n`;
  }
  return page.slice(0, bytes);
}
