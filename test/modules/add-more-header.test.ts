import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('add_more_header makes a line of every value', async (t) => {
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_multi_header_module.so;
    events {}
    http {
      add_more_header X-Http 1 2;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /inherits { return 200; }
        location /own { add_more_header Link a b "$uri c" b; add_more_header X-Other x; return 200; }
        location /both { add_header X-A 0; add_more_header X-A 1 2; return 200; }
        location /error { add_more_header X-Some 1; add_more_header X-All 1 2 always; return 404; }
      }
    }`,
  );
  const ask = async (path: string): Promise<string[]> => {
    const { rawHeaders } = await get(srv.port('web'), path);
    return rawHeaders.flatMap((name, at) => (at % 2 === 0 && /^(x-|link)/i.test(name) ? `${name}: ${rawHeaders[at + 1]}` : []));
  };
  t.deepEqual(await ask('/inherits'), ['X-Http: 1', 'X-Http: 2']);
  t.deepEqual(await ask('/own'), ['Link: a', 'Link: b', 'Link: /own c', 'Link: b', 'X-Other: x']);
  t.deepEqual((await ask('/both')).sort(), ['X-A: 0', 'X-A: 1', 'X-A: 2']);
  t.deepEqual(await ask('/error'), ['X-All: 1', 'X-All: 2']);
});
