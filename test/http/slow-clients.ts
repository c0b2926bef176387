/** A member with long responses, a server in front of it, and clients that read nothing at first. */
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { ExecutionContext } from 'ava';
import { httpBackend, type HttpBackend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternStream } from './byte-streams.js';

/** More than all sockets on the way hold. */
export const LENGTH = 30_000_000;

export interface Streaming extends HttpBackend {
  /** Paths whose response has left the member. */
  readonly sent: string[];
}

/** Responds to `/path?Field=value` with these fields and {@link LENGTH} bytes, or `length=` of them. */
export async function streaming(t: Scope): Promise<Streaming> {
  const sent: string[] = [];
  const respond = (url: string, response: ServerResponse): void => {
    const { searchParams, pathname } = new URL(url, 'http://a');
    const length = Number(searchParams.get('length') ?? LENGTH);
    for (const [name, value] of searchParams) if (name !== 'length') response.setHeader(name, value);
    response.once('finish', () => sent.push(pathname));
    pipeline(patternStream(length), response).catch(() => undefined);
  };
  const backend = await httpBackend(t, ({ url = '' }, response) => respond(url, response));
  return Object.assign(backend, { sent });
}

export function proxying(t: Scope, port: number, settings = '', allowCrashes = false): Promise<Srv> {
  return startSrv(
    t,
    `worker_processes 1;
    error_log logs/error.log info;
    events {}
    http {
      upstream member { server 127.0.0.1:${port}; keepalive 8; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        http2 on;
        ${settings}
        location / { proxy_pass http://member; }
        location /impatient { proxy_pass http://member; send_timeout 1s; }
        location /off { proxy_pass http://member; proxy_buffering off; }
        location /ignored { proxy_pass http://member; proxy_ignore_headers X-Accel-Buffering; }
        location /memory { proxy_pass http://member; proxy_max_temp_file_size 0; }
        location /short { proxy_pass http://member; proxy_max_temp_file_size 1m; }
        location /gzip { proxy_pass http://member; gzip on; gzip_types *; gzip_comp_level 1; }
        location /levels { proxy_pass http://member; proxy_temp_path responses 1 2; proxy_temp_file_write_size 8k; proxy_busy_buffers_size 8k; }
        location /head { proxy_pass http://member; proxy_buffer_size 1k; }
        location /slowly { proxy_pass http://member; proxy_limit_rate $arg_rate; }
      }
    }`,
    { allowCrashes },
  );
}

export interface Site {
  readonly backend: Streaming;
  readonly srv: Srv;
}

export async function site(t: Scope, settings?: string): Promise<Site> {
  const backend = await streaming(t);
  return { backend, srv: await proxying(t, backend.port, settings) };
}

/** Asks for a path and reads nothing of the response. */
export async function ask(t: ExecutionContext, port: number, path: string, headers = {}): Promise<IncomingMessage> {
  const call = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false });
  t.teardown(() => call.destroy());
  call.end();
  return new Promise((resolve, reject) => call.once('response', resolve).once('error', reject));
}

export async function digestOf(response: NodeJS.ReadableStream): Promise<string> {
  const sink = new HashingSink();
  await pipeline(response, sink);
  return sink.digest();
}

/** Temporary files that the server has open. */
export function openFiles(srv: Srv, folder = 'proxy_temp'): { readonly size: number }[] {
  const descriptors = `/proc/${srv.pid}/fd`;
  return readdirSync(descriptors).flatMap((fd) => {
    try {
      const target = readlinkSync(`${descriptors}/${fd}`);
      return target.startsWith(`${srv.path(folder)}/`) ? [{ size: statSync(`${descriptors}/${fd}`).size }] : [];
    } catch {
      return [];
    }
  });
}

export const noneIsOpen = (srv: Srv): Promise<true> => waitFor('the end of the temporary files', () => openFiles(srv).length === 0);
