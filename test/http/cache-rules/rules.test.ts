/** `proxy_cache_rules rfc9111`: a table of behaviours, one server, one member. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { shared } from '../../harness/scope.js';
import { startSrv } from '../../harness/srv.js';
import { Play } from './play.js';
import { behaviourTable, ROWS } from './table.js';

const play = shared(async (scope): Promise<Play> => {
  const it = await Play.prepare(scope, ROWS);
  const srv = await startSrv(
    scope,
    `worker_processes 1; error_log logs/error.log info; events { worker_connections 1000; }
    http {
      proxy_cache_path cache keys_zone=one:1m memory=1m use_temp_path=off;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_cache one; proxy_cache_rules rfc9111; proxy_cache_status on; add_header X-Cache $upstream_cache_status;
        location / { proxy_pass http://127.0.0.1:${it.member.port}; }
        location /valid/ { proxy_cache_valid any 1h; proxy_pass http://127.0.0.1:${it.member.port}; }
        location /stale/ { proxy_cache_use_stale error http_503; proxy_pass http://127.0.0.1:${it.member.port}; }
        location /heads/ { proxy_cache_convert_head off; proxy_pass http://127.0.0.1:${it.member.port}; }
      }
    }`,
  );
  await it.run(srv.port('web'));
  return it;
});

for (const row of ROWS) {
  test(`${row.rule}: ${row.what}`, async (t) => {
    t.deepEqual((await play()).failures.get(row) ?? [], []);
  });
}

test('docs/cache-rules.md lists these behaviours', (t) => {
  // Missing lines: put the printed table there.
  const page = readFileSync(new URL('../../../../docs/cache-rules.md', import.meta.url), 'utf8');
  t.is(page.slice(page.indexOf('| RFC or draft |')).trim(), behaviourTable());
});
