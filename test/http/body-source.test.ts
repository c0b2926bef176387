import { createHash } from 'node:crypto';
import http2 from 'node:http2';
import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Sources that a stranger could have written. Each says in the log what was read of it, and that it was closed. */
const MODULE = `
import { readFileSync } from 'node:fs';
import { text } from 'srv/module/args.js';
import { DONE } from 'srv/module/http.js';
import { httpModule } from 'srv/module/manifest.js';
import { Log } from 'srv/module/log.js';
import { directive } from 'srv/module/spec.js';

const LENGTH = 3_000_000;
const fill = (into, offset) => { for (let at = 0; at < into.length; at++) into[at] = (offset + at) % 251; return into.length; };
const tick = () => new Promise((done) => setImmediate(done));
const READS = {
  sync: fill,
  async: async (into, offset) => { await tick(); return fill(into, offset); },
  little: (into, offset) => fill(into.subarray(0, 1000), offset),
  gone: (into, offset) => fill(into.subarray(0, 1000), offset),
  left: async (into, offset) => { await tick(); return fill(into, offset); },
  short: (into, offset) => offset < 100_000 ? fill(into, offset) : 0,
  throws: () => { throw new Error('cannot read'); },
  rejects: async () => { throw new Error('cannot wait'); },
  nonsense: () => 'many',
  unknown: async (into, offset) => { await tick(); return offset < 5000 ? fill(into.subarray(0, 1000), offset) : 0; },
};
export class Plugin {
  static services = [Log];
  constructor(log) { this.log = log; }
  compile({ conf }) {
    const name = conf.source;
    if (name === undefined) return undefined;
    return {
      content: (request) => {
        request.response.allowsRanges = true;
        if (name === 'whole') return request.send(200, '0123456789', 'text/plain');
        if (name === 'streamed') {
          const body = request.respond(200, 'text/plain', 10);
          for (const piece of ['01234', '5678', '9']) body.write(piece);
          body.end();
          return DONE;
        }
        let bytes = 0;
        let open = true;
        const source = {
          length: name === 'empty' ? 0 : name === 'unknown' ? -1 : LENGTH,
          read: (into, offset) => {
            const counted = (count) => { bytes += count; return count; };
            if (!open) this.log.write('alert', 'read after close', request);
            const count = READS[name](into, offset);
            return count instanceof Promise ? count.then(counted) : counted(count);
          },
          close: () => {
            if (!open) this.log.write('alert', 'closed twice', request);
            open = false;
            this.log.write('notice', \`closed \${name} after \${bytes}\`, request);
          },
        };
        request.response.set('ETag', '"x"');
        return request.sendFrom(200, source, 'application/octet-stream');
      },
    };
  }
}
httpModule({ name: 'acme', api: '1.1', directives: { source: directive({ in: ['location'], args: text('name') }) } })(Plugin);
`;

const LENGTH = 3_000_000;
const BODY = Buffer.from(Array.from({ length: LENGTH }, (_, at) => at % 251));

const NAMES = [
  'sync',
  'async',
  'little',
  'gone',
  'left',
  'short',
  'throws',
  'rejects',
  'nonsense',
  'empty',
  'unknown',
  'whole',
  'streamed',
];

function start(t: Scope): Promise<Srv> {
  return startSrv(
    t,
    `load_module modules/acme.mjs; error_log logs/error.log info; worker_processes 1; events {}
    http { gzip_types *; server { listen 127.0.0.1:%%PORT_web%%; http2 on;
      ${NAMES.map((name) => `location /${name} { source ${name}; }`).join('\n')}
      location /gzip { gzip on; source sync; }
    } }`,
    { files: { 'modules/acme.mjs': MODULE } },
  );
}

const site = shared(start);

const digest = (bytes: Buffer | string): string => createHash('sha1').update(bytes).digest('hex');

/** The bytes of a response. */
async function bytesOf(port: number, path: string, headers: Record<string, string> = {}): Promise<Buffer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return Buffer.from(await response.arrayBuffer());
}

test('a body that is read as it is sent, at once or later, in pieces of any size', async (t) => {
  const srv = await site();
  for (const name of ['sync', 'async', 'little']) {
    t.is(digest(await bytesOf(srv.port('web'), `/${name}`)), digest(BODY), name);
    await srv.waitForLog(new RegExp(`closed ${name} after \\d+`));
  }
  t.is((await bytesOf(srv.port('web'), '/empty')).length, 0);
  const head = await get(srv.port('web'), '/sync', { method: 'HEAD' });
  t.deepEqual([head.headers['content-length'], head.headers['accept-ranges']], [String(LENGTH), 'bytes']);
  await srv.waitForLog(/closed sync after 0/);
});

test('of ranges only these bytes are read', async (t) => {
  const srv = await site();
  const port = srv.port('web');
  t.is(digest(await bytesOf(port, '/sync', { range: 'bytes=1000000-1000009' })), digest(BODY.subarray(1_000_000, 1_000_010)));
  await srv.waitForLog(/closed sync after 10,/);
  const parts = await bytesOf(port, '/async', { range: 'bytes=-10,0-9' });
  await srv.waitForLog(/closed async after 20,/);
  t.true(
    parts.includes(Buffer.concat([Buffer.from(`Content-Range: bytes ${LENGTH - 10}-${LENGTH - 1}/${LENGTH}\r\n\r\n`), BODY.subarray(-10)])),
  );
  t.true(parts.includes(Buffer.concat([Buffer.from(`Content-Range: bytes 0-9/${LENGTH}\r\n\r\n`), BODY.subarray(0, 10)])));
});

const RANGES: readonly (readonly [name: string, range: string, status: number, body: RegExp])[] = [
  ['whole', '3-6', 206, /^3456$/],
  ['streamed', '3-6', 206, /^3456$/],
  ['streamed', '5-', 206, /^56789$/],
  ['streamed', '0-0,4-5,9-9', 206, /0-0\/10\r\n\r\n0\r\n--[^]*4-5\/10\r\n\r\n45\r\n--[^]*9-9\/10\r\n\r\n9\r\n--/],
  ['whole', '-2,0-0', 206, /8-9\/10\r\n\r\n89\r\n--[^]*0-0\/10\r\n\r\n0\r\n--/],
  // What has passed does not come back.
  ['streamed', '-2,0-0', 200, /^0123456789$/],
  ['whole', '10-', 416, /416 Requested Range Not Satisfiable/],
  ['streamed', '10-', 416, /416 Requested Range Not Satisfiable/],
];
test('ranges of what a module sends whole and in pieces', async (t) => {
  const srv = await site();
  for (const [name, range, status, body] of RANGES) {
    const response = await get(srv.port('web'), `/${name}`, { headers: { Range: `bytes=${range}` } });
    t.is(response.status, status, `${name} ${range}`);
    t.regex(response.body, body, `${name} ${range}`);
    t.is(response.headers['content-length'], String(response.body.length), `${name} ${range}`);
  }
});

test('body filters get the whole', async (t) => {
  const srv = await site();
  // fetch decompresses.
  t.is(digest(await bytesOf(srv.port('web'), '/gzip', { 'accept-encoding': 'gzip', range: 'bytes=0-1' })), digest(BODY));
});

test('a source that fails, or has less than it says, cuts the response off', async (t) => {
  const srv = await site();
  for (const name of ['short', 'throws', 'rejects', 'nonsense']) {
    await t.throwsAsync(bytesOf(srv.port('web'), `/${name}`), undefined, name);
    await srv.waitForLog(new RegExp(`closed ${name} after`));
  }
  t.regex(srv.log(), /acme.*cannot read/);
  t.regex(srv.log(), /acme.*cannot wait/);
  t.regex(srv.log(), /acme.*a body source must read up to 262144 bytes, not 'many'/);
});

test('a client that stops reading stops the source, and one that leaves closes it', async (t) => {
  const srv = await site();
  for (const name of ['gone', 'left']) {
    // One that leaves just between two responses closes none.
    await waitFor(`${name}, not read to its end`, async () => {
      const client = await connectRaw(t, srv.port('web'));
      client.socket.pause();
      for (let request = 0; request < 20; request++) client.send(`GET /${name} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await waitFor('the first bytes', () => client.socket.readableLength > 0);
      t.is((await get(srv.port('web'), '/empty')).status, 200);
      client.socket.destroy();
      return new RegExp(`closed ${name} after (?!${LENGTH})\\d+,`).test(srv.log());
    });
  }
});

test('the same over HTTP/2', async (t) => {
  const srv = await site();
  const session = http2.connect(`http://127.0.0.1:${srv.port('web')}`);
  t.teardown(() => session.destroy());
  for (const name of ['sync', 'async']) {
    const stream = session.request({ ':path': `/${name}` });
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    await new Promise((done) => stream.on('end', done));
    t.is(digest(Buffer.concat(pieces)), digest(BODY), name);
  }
});

test('a source of unknown length ends with a read of nothing, and has no ranges', async (t) => {
  const srv = await site();
  for (const headers of [{}, { Range: 'bytes=0-9' }]) {
    const { status, body, headers: fields } = await get(srv.port('web'), '/unknown', { headers });
    t.deepEqual([status, body.length, fields['content-length'], fields['accept-ranges']], [200, 5000, undefined, undefined]);
  }
  await srv.waitForLog(/closed unknown after 5000/);
});
