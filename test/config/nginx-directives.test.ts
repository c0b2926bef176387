import test from 'ava';
import { insteadOf, isOfNginx, missingNames } from '../../core/config/nginx-directives.js';
import { check } from '../harness/check.js';
import { allModules } from '../../tools/docs/all-modules.js';

test('the names of nginx are known, whether srv has them or not', async (t) => {
  const names = new Set((await allModules()).flatMap((module) => Object.keys(module.declaration.manifest.directives ?? {})));
  const missing = missingNames((name) => names.has(name));
  t.true(isOfNginx('proxy_pass'));
  t.false(missing.includes('proxy_pass'));
  t.true(missing.includes('uwsgi_pass'));
  t.false(isOfNginx('uwsgi'));
  t.false(isOfNginx('add_more_header'));
});

const HINTS: readonly (readonly [line: string, hint: string])[] = [
  ['uwsgi_pass x;', 'not supported by this version: let the application speak HTTP, and use "proxy_pass"'],
  ['memcached_pass x;', 'not supported by this version: for values of its own the server has key-value pairs: docs/dynamic.md'],
  ['fastcgi_pas x;', 'did you mean "fastcgi_pass"?'],
  ['image_filtre crop;', 'did you mean "image_filter"? not supported by this version: a module can do it: docs/modules.md'],
  [
    'add_more_haeder a b;',
    'did you mean "add_more_header"? It needs "load_module modules/srv_http_multi_header_module.so;" at the top of the configuration',
  ],
  ['add_haeder a b;', 'did you mean "add_header"?'],
  ['proxi_pas http://a;', 'did you mean "proxy_pass"?'],
  ['worker_proceses 1;', 'did you mean "worker_processes"? It may stand in: main'],
];

test('an unknown directive: what was meant, and what to use instead', async (t) => {
  const { stderr } = await check(t, `events {} http { server { location / {\n${HINTS.map(([line]) => line).join('\n')}\n} } }`);
  t.deepEqual(
    [...stderr.matchAll(/^ {6}\| +\^+\n {4}(.*)$/gm)].map(([, hint]) => hint),
    HINTS.map(([, hint]) => hint),
    stderr,
  );
  for (const name of ['fastcgi_pass', 'perl_set', 'js_content', 'flv', 'quic_gso', 'smtp_auth']) t.truthy(insteadOf(name), name);
});

test('an unknown variable: what was meant', async (t) => {
  const http = '$requst_uri $memcached_key $memcached_kye $my_vaule $bytes_received $zz $qqqqqqqq';
  const { stderr } = await check(
    t,
    `events {} http { server { set $my_value x; return 200 "${http}"; } } stream { server { return $arg_a; } }`,
  );
  t.deepEqual(
    [...stderr.matchAll(/unknown "(\w+)" variable .*\n.*\n.*\n.*\^\n(?: {4}(\S.*)\n)?/g)].map(([, name, hint]) => [name, hint]),
    [
      ['requst_uri', 'did you mean "$request_uri"?'],
      ['memcached_key', 'not supported by this version: docs/variables.md lists what is'],
      ['memcached_kye', 'did you mean "$memcached_key"? not supported by this version: docs/variables.md lists what is'],
      ['my_vaule', 'did you mean "$my_value"?'],
      ['bytes_received', 'the requests of "http" and the sessions of "stream" have variables of their own: docs/variables.md'],
      ['zz', undefined],
      ['qqqqqqqq', undefined],
      ['arg_a', 'the requests of "http" and the sessions of "stream" have variables of their own: docs/variables.md'],
    ],
    stderr,
  );
});
