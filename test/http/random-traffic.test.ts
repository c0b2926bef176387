import { createHash, randomBytes } from 'node:crypto';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const LIMIT_MS = 4000;
const ENOUGH = 100;
const CLIENTS = 12;
const SIZES = [0, 1, 100, 16_384, 40_000, 70_000, 200_000];

const below = (limit: number): number => Math.floor(Math.random() * limit);
const anyOf = <T>(values: readonly T[]): T => values[below(values.length)] as T;

interface Sent {
  readonly bytes: Buffer;
  /** What the response's body must be: number and length of the request's own, and as much filling as it asked for. */
  readonly answer: string;
}

/** A request of any kind, as bytes. */
function anyRequest(id: number): Sent {
  const path = anyOf(['/', '/stream', '/here']);
  const method = anyOf(['GET', 'POST', 'PUT']);
  const body = method === 'GET' ? Buffer.alloc(0) : randomBytes(anyOf(SIZES));
  const fill = anyOf(SIZES);
  const chunked = method !== 'GET' && below(2) === 0;
  const framing = chunked ? 'Transfer-Encoding: chunked\r\n' : method === 'GET' ? '' : `Content-Length: ${body.length}\r\n`;
  const head = `${method} ${path}?id=${id}&fill=${fill}&way=${anyOf(['length', 'chunks', 'slow'])} HTTP/1.1\r\nHost: a\r\n${framing}\r\n`;
  const bytes = Buffer.concat([Buffer.from(head), ...(chunked ? inChunks(body) : [body])]);
  return { bytes, answer: path === '/here' ? `here ${id}` : digest(id, body, fill) };
}

function inChunks(body: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const piece = body.subarray(at, at + 1 + below(9000));
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  return [...pieces, Buffer.from('0\r\n\r\n')];
}

function digest(id: number, body: Buffer, fill: number): string {
  return `${id} ${body.length} ${createHash('md5').update(body).digest('hex')} ${'x'.repeat(fill)}`;
}

/** The bodies of all responses in what a connection received. */
function bodiesIn(received: string): string[] {
  const bodies: string[] = [];
  for (let at = 0; at < received.length;) {
    const end = received.indexOf('\r\n\r\n', at) + 4;
    const length = /\r\nContent-Length: (\d+)/.exec(received.slice(at, end))?.[1];
    const [body, next] = length === undefined ? chunksAt(received, end) : [received.slice(end, end + Number(length)), end + Number(length)];
    bodies.push(body);
    at = next;
  }
  return bodies;
}

function chunksAt(text: string, start: number): [body: string, end: number] {
  let body = '';
  for (let at = start; ;) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (size === 0) return [body, line + 4];
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}

test('whatever clients send at once, in any pieces, each gets the responses to its own requests', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://a');
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const answer = digest(Number(searchParams.get('id')), Buffer.concat(pieces), Number(searchParams.get('fill')));
      if (searchParams.get('way') === 'length') response.setHeader('content-length', answer.length);
      if (searchParams.get('way') !== 'slow') response.end(answer);
      else {
        response.write(answer.slice(0, answer.length / 2));
        setTimeout(() => response.end(answer.slice(answer.length / 2)), below(10));
      }
    });
  });
  const srv = await startSrv(
    t,
    `worker_processes 2;
    events {}
    http {
      client_max_body_size 0;
      upstream group { zone group 64k; server 127.0.0.1:${backend.port}; keepalive 4; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://group; }
        location /stream { proxy_pass http://group; proxy_request_buffering off; }
        location /here { return 200 "here $arg_id"; }
        location /status { stub_status; }
      }
    }`,
  );
  let id = 0;
  let answered = 0;
  const until = Date.now() + LIMIT_MS;
  const client = async (): Promise<void> => {
    while (Date.now() < until || answered < ENOUGH) {
      const requests = Array.from({ length: 1 + below(6) }, () => anyRequest(++id));
      const last = `GET /here?id=last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      const all = Buffer.concat([...requests.map(({ bytes }) => bytes), Buffer.from(last)]).toString('latin1');
      const connection = await connectRaw(t, srv.port('web'));
      const leavesEarly = below(10) === 0;
      for (let at = 0; at < (leavesEarly ? all.length / 2 : all.length);) {
        const piece = all.slice(at, at + (below(3) === 0 ? 1 + below(5000) : all.length));
        connection.send(piece);
        at += piece.length;
        if (below(3) === 0) await new Promise((resolve) => setTimeout(resolve, below(4)));
      }
      if (!leavesEarly) {
        const bodies = bodiesIn(await connection.receiveAll(30_000));
        const expected = [...requests.map(({ answer }) => answer), 'here last'];
        const at = expected.findIndex((answer, index) => answer !== bodies[index]);
        t.is(bodies[at]?.slice(0, 100), expected[at]?.slice(0, 100));
        t.true(at < 0, `${requests[at]?.bytes.toString('latin1').slice(0, 100)}`);
        answered += requests.length;
      }
      connection.socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await waitFor('no connection but the one that asks', async () =>
    (await get(srv.port('web'), '/status')).body.startsWith('Active connections: 1 '),
  );
});
