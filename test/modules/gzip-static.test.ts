import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { connectRaw } from '../harness/client.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';
import { tempFolder, writeInto } from '../harness/temp.js';

const GZIP = { 'Accept-Encoding': 'gzip' };

sameAsNginx(
  'gzip_static',
  (t, port) => {
    const folder = tempFolder(t);
    for (const [name, text] of Object.entries({
      'a.txt': 'plain',
      'b.txt': 'only plain',
      'd/index.html': 'index',
      'e.txt': 'beside a folder',
    }))
      writeInto(folder, name, text);
    for (const [name, text] of Object.entries({
      'a.txt.gz': 'compressed',
      'c.html.gz': 'only compressed',
      'd/index.html.gz': 'small index',
    }))
      writeFileSync(join(folder, name), gzipSync(text));
    mkdirSync(join(folder, 'e.txt.gz'));
    return `types { text/html html; text/plain txt; } server { listen 127.0.0.1:${port}; root ${folder}; gzip_vary on; gzip_http_version 1.0;
      location / { gzip_static on; expires 1h; }
      location /failed { gzip_static on; error_page 404 /a.txt; }
      location /both/ { alias ${folder}/; gzip_static on; gzip_vary off; gzip on; gzip_types *; gzip_min_length 1; }
      location /all/ { alias ${folder}/; gzip_static always; }
      location /gunzip/ { alias ${folder}/; gzip_static always; gunzip on; } }`;
  },
  async (t, port) => {
    const ask = async (target: string, fields: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<string> => {
      const connection = await connectRaw(t, port);
      const lines = Object.entries({ Host: 'a', ...fields }).map(([name, value]) => `${name}: ${value}\r\n`);
      connection.send(`${method} ${target} HTTP/1.0\r\n${lines.join('')}\r\n`);
      const received = await connection.receiveAll();
      const end = received.indexOf('\r\n\r\n') + 4;
      const bytes = Buffer.from(received.slice(end), 'latin1');
      const has = (field: string): string => (new RegExp(`\r\n${field}: `, 'i').test(received) ? ` ${field}` : '');
      const isCompressed = has('content-encoding') !== '';
      const body = isCompressed ? `gzip of ${bytes.length > 0 ? gunzipSync(bytes).toString() : ''}` : bytes.toString();
      const type = /content-type: text\/(\w+)/i.exec(received)?.[1] ?? '';
      return `${received.slice(9, 12)} ${type}${has('vary')}${has('accept-ranges')}: ${body.startsWith('<html>') ? 'page' : body}`;
    };
    const compressed = (target: string, fields = {}, method = 'GET'): Promise<string> => ask(target, { ...GZIP, ...fields }, method);
    t.is(await ask('/a.txt'), '200 plain vary accept-ranges: plain');
    t.is(await ask('/b.txt'), '200 plain accept-ranges: only plain');
    t.is(await ask('/c.html'), '404 html vary: page');
    t.is(await ask('/all/a.txt'), '200 plain: gzip of compressed');
    t.is(await ask('/gunzip/a.txt'), '200 plain vary: compressed');
    t.is(await ask('/failed'), '404 plain vary: plain');
    t.is(await ask('/a.txt', { Range: 'bytes=0-1' }), '206 plain vary: pl');
    t.is(await compressed('/a.txt'), '200 plain vary: gzip of compressed');
    t.is(await compressed('/b.txt'), '200 plain accept-ranges: only plain');
    t.is(await compressed('/both/b.txt'), '200 plain: gzip of only plain');
    t.is(await compressed('/c.html'), '200 html vary: gzip of only compressed', 'the plain file may be missing');
    t.is(await compressed('/d/'), '200 html vary: gzip of small index');
    t.is(await compressed('/e.txt'), '200 plain vary accept-ranges: beside a folder');
    t.is(await compressed('/both/a.txt'), '200 plain: gzip of compressed', 'what is compressed is not compressed again');
    t.is(await compressed('/failed'), '404 plain vary: gzip of compressed');
    t.is(await compressed('/a.txt', { Range: 'bytes=0-1' }), '200 plain vary: gzip of compressed', 'no ranges');
    t.is(await compressed('/a.txt', { Via: '1.1 x' }), '200 plain vary accept-ranges: plain', 'gzip_proxied');
    t.is(await compressed('/a.txt', {}, 'HEAD'), '200 plain vary: gzip of ');
    t.is(await compressed('/a.txt', {}, 'POST'), '405 html: page');
  },
);
