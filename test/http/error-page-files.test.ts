import { writeFileSync } from 'node:fs';
import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('a file as the page of an error has a date only with the status of a file', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; root files;
      location / { error_page 404 /page.txt; }
      location /created { error_page 405 =201 /page.txt; return 405; }
      location /fine { error_page 405 =200 /page.txt; return 405; }
      location /of-page { error_page 405 = /page.txt; return 405; } } }`,
    { files: { 'files/page.txt': '' } },
  );
  writeFileSync(srv.path('files/page.txt'), 'page');
  for (const [path, status, isDated] of [
    ['/missing', 404, false],
    ['/created', 201, false],
    ['/fine', 200, true],
    ['/of-page', 200, true],
    ['/page.txt', 200, true],
  ] as const) {
    const response = await get(srv.port('web'), path);
    t.is(response.status, status, path);
    t.is(response.body, 'page');
    t.is(response.headers['last-modified'] !== undefined, isDated, path);
    t.truthy(response.headers.etag, path);
  }
});
