/** The rewrite module (ngx_http_rewrite_module): each case is nginx's response to the same configuration. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startNginx } from '../harness/nginx.js';
import { plugin } from '../harness/plugins.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';

const show = 'return 200 "$uri|$args|$request_uri"';

/** Blocks of a server, and requests with the responses: status, body or Location. */
const CASES: Readonly<Record<string, { readonly conf: string; readonly requests: Readonly<Record<string, string>> }>> = {
  'a path is replaced, and the location chosen again': {
    conf: `location /old { rewrite ^/old/(.*)$ /new/$1; return 200 unreached; } location /new { ${show}; }`,
    requests: { '/old/a?x=1': '200 unreached', '/older': '200 unreached' },
  },
  'last chooses the location again': {
    conf: `location /old { rewrite ^/old/(.*)$ /new/$1 last; return 200 old; } location /new { ${show}; }`,
    requests: { '/old/a?x=1': '200 /new/a|x=1|/old/a?x=1', '/old': '200 old' },
  },
  'without a flag the next rule sees the new path': {
    conf: `location /a { rewrite ^/a /b; rewrite ^/b(.*) /c/$1; } location /b { return 200 b; } location /c { ${show}; }`,
    requests: { '/a/1': '200 /c/||/a/1' },
  },
  'break stays in the location': {
    conf: `location /a { rewrite ^/a /b break; return 200 unreached; error_page 404 = /shown; } location /b { return 200 b; } location /shown { return 200 404; }`,
    requests: { '/a': '200 404' },
  },
  'break alone ends the directives': {
    conf: `location /a { set $x one; break; return 200 no; error_page 404 = @end; } location @end { return 200 $x; }`,
    requests: { '/a': '200 one' },
  },
  'arguments of the replacement come first, a question mark drops the others': {
    conf: `location /k { rewrite ^/k(.*) /show?own=$1 last; } location /d { rewrite ^/d /show? last; } location /e { rewrite ^/e /show?own=1? last; } location /show { ${show}; }`,
    requests: {
      '/k1?x=2': '200 /show|own=1&x=2|/k1?x=2',
      '/d?x=2': '200 /show||/d?x=2',
      '/e?x=2': '200 /show|own=1|/e?x=2',
      '/k1': '200 /show|own=1|/k1',
    },
  },
  'captures are escaped in arguments': {
    conf: `location /k/ { rewrite ^/k/(.*) /show?own=$1 last; } location /show { ${show}; }`,
    requests: { '/k/a%20b%26c': '200 /show|own=a%20b%26c|/k/a%20b%26c', '/k/a+b': '200 /show|own=a%2Bb|/k/a+b' },
  },
  'a redirect is unescaped up to its arguments': {
    conf: `location /r/ { rewrite ^/r/(.*) http://h/$1 redirect; } location /q/ { rewrite ^/q/(.*) http://h/$1?a=$1 redirect; } location /c/ { rewrite ^ http://h/%41%3fb%41?c=%41 redirect; }`,
    requests: {
      '/r/%3Ca%3Fb%3C': '302 http://h/<a?b%3C',
      '/q/%7Ba%5C': '302 http://h/{a\\?a=%7Ba%5C',
      '/c/': '302 http://h/A?b%41?c=%41',
    },
  },
  'a file that cannot be looked at is none': {
    conf: `location / { if (-f PREFIX/${'a'.repeat(300)}) { return 200 found; } if (!-e PREFIX/loop/a) { return 200 none; } return 200 both; }`,
    requests: { '/': '200 none' },
  },
  redirects: {
    conf: `location /r { rewrite ^/r/(.*) /x/$1 redirect; } location /p { rewrite ^/p/(.*) http://h.example/$1 permanent; }
      location /u { rewrite ^/u/(.*) https://h.example/$1?a=1; } location /s { rewrite ^/s/(.*) $scheme://h.example/$1?; }`,
    requests: {
      '/r/a?b=c': '302 http://s.example:PORT/x/a?b=c',
      '/p/a': '301 http://h.example/a',
      '/u/a?b=c': '302 https://h.example/a?a=1&b=c',
      '/s/a?b=c': '302 http://h.example/a',
      '/p/a%20b/%C3%A9%26': '301 http://h.example/a%20b/%C3%A9&',
    },
  },
  'in the server, before a location is chosen': {
    conf: `rewrite ^/s/(.*) /show/$1 last; rewrite ^/show /never; if ($arg_x) { rewrite ^ /if/$arg_x break; } location / { ${show}; }`,
    requests: { '/s/a': '200 /show/a||/s/a', '/z?x=1': '200 /if/1|x=1|/z?x=1', '/z': '200 /z||/z' },
  },
  'set and nested variables': {
    conf: `set $a server; location / { set $b "$a-loc"; set $A $b!; return 200 "$a $b"; } location /none { return 200 "[$b]"; }`,
    requests: { '/': '200 server-loc! server-loc', '/none': '200 []' },
  },
  'set $args': {
    conf: `location / { set $args "x=$arg_y"; rewrite ^ /show last; } location /show { ${show}; }`,
    requests: { '/?y=2': '200 /show|x=2|/?y=2' },
  },
  conditions: {
    conf: `location / { set $r ""; if ($arg_a) { set $r "\${r}set"; } if ($arg_a = 1) { set $r "\${r}-is1"; } if ($arg_a != 1) { set $r "\${r}-not1"; }
      if ($arg_a ~ ^(?<word>[a-z]+)$) { set $r "\${r}-word:$word-$1"; } if ($arg_a ~* ^ABC$) { set $r "\${r}-abc"; } if ($arg_a !~ b) { set $r "\${r}-nob"; } return 200 $r; }`,
    requests: { '/': '200 -not1-nob', '/?a=0': '200 -not1-nob', '/?a=1': '200 set-is1-nob', '/?a=abc': '200 set-not1-word:abc-abc-abc' },
  },
  'if in a location: settings and content of the block': {
    conf: `location / { add_header X-A outer; if ($arg_h) { add_header X-A inner; } if ($arg_r) { return 201 "block"; } return 200 "$sent_http_x_a"; }`,
    requests: { '/': '200 ', '/?r=1': '201 block' },
  },
  'return within if': {
    conf: `if ($request_method = POST) { return 405; } if ($host ~ ^www\\.(.+)) { return 301 http://$1$request_uri; } location / { ${show}; }`,
    requests: { '/a?b': '200 /a|b|/a?b', 'www.k.example /a?b': '301 http://k.example/a?b' },
  },
  files: {
    conf: `location / { if (-f PREFIX/conf/a.txt) { set $f file; } if (-d PREFIX/conf/a.txt) { set $d dir; } if (!-e PREFIX/conf/none) { set $e none; } if (-x PREFIX/conf/a.txt) { set $x exec; } return 200 "$f $d $e $x"; }`,
    requests: { '/': '200 file  none ' },
  },
  'the last block that matches decides, and without content of its own has that of the location alone': {
    conf: `set $to 127.0.0.1:PORT;
      location /a { if ($arg_a) { proxy_pass http://$to/own; } if ($arg_b) { } if ($arg_c) { set $x 1; } if ($arg_d) { proxy_pass http://$to/last; } }
      location /b { proxy_pass http://$to/whole; if ($arg_a) { proxy_pass http://$to/own; } if ($arg_b) { } }
      location /c { if ($arg_a) { proxy_pass http://$to/own; } if ($arg_b) { rewrite ^ /whole last; } if ($arg_c) { return 204; } }
      location /own { return 200 own; } location /last { return 200 last; } location /whole { return 200 whole; }`,
    requests: {
      '/a': '404',
      '/a?a=1': '200 own',
      '/a?a=1&b=1': '500',
      '/a?a=1&c=1': '500',
      '/a?a=1&b=1&c=1': '500',
      '/a?b=1': '404',
      '/a?a=1&b=1&d=1': '200 last',
      '/b?a=1': '200 own',
      '/b?a=1&b=1': '200 whole',
      '/c?a=1&b=1': '200 whole',
      '/c?a=1&c=1': '204 ',
    },
  },
  'a circle of rewrites ends in 500': {
    conf: 'location / { rewrite ^ /again last; }',
    requests: { '/': '500' },
  },
  'an empty path is an error': {
    conf: 'location / { rewrite ^/x(.*) $1 break; }',
    requests: { '/x': '500' },
  },
  'internal locations are open to rewrites': {
    conf: `location /i { internal; ${show}; } location /go { rewrite ^ /i last; }`,
    requests: { '/i': '404', '/go': '200 /i||/go' },
  },
  'limit_except leaves rewrites out': {
    conf: 'location / { limit_except GET { deny all; } return 200 got; }',
    requests: { '/': '200 got', 'POST /': '403' },
  },
};

async function answer(port: number, line: string): Promise<string> {
  const words = line.split(' ');
  const path = words.pop() ?? '/';
  const [word] = words;
  const method = word !== undefined && /^[A-Z]+$/.test(word) ? word : 'GET';
  const host = word !== undefined && word.includes('.') ? word : `s.example:${port}`;
  const { status, body, headers } = await get(port, path, { method, headers: { host } });
  const shown = status < 300 ? ` ${body}` : headers.location === undefined ? '' : ` ${headers.location}`;
  return `${status}${shown}`;
}

/** A server for each case; `PREFIX` is a folder with a file, `PORT` its own. */
async function casesConf(t: ExecutionContext, ports: number[]): Promise<string> {
  const folder = tempFolder(t);
  writeInto(folder, 'conf/a.txt', 'a');
  symlinkSync('loop', join(folder, 'loop'));
  const servers: string[] = [];
  for (const { conf } of Object.values(CASES)) {
    const port = await freePort(t);
    ports.push(port);
    servers.push(
      `server { listen 127.0.0.1:${port}; server_name s.example; ${conf.replaceAll('PREFIX', folder).replaceAll('PORT', String(port))} }`,
    );
  }
  return `uninitialized_variable_warn off; ${servers.join('\n')}`;
}

async function assertCases(t: ExecutionContext, ports: readonly number[]): Promise<void> {
  for (const [at, [name, { requests }]] of Object.entries(CASES).entries()) {
    const port = ports[at] ?? 0;
    for (const [line, expected] of Object.entries(requests))
      t.is(await answer(port, line), expected.replace('PORT', String(port)), `${name}: ${line}`);
  }
}

test('paths, variables and conditions', async (t) => {
  const ports: number[] = [];
  const conf = await casesConf(t, ports);
  await startSrv(t, `events {} http { ${conf} }`);
  await assertCases(t, ports);
});

testWith('nginx')('nginx gives the same responses', async (t) => {
  const ports: number[] = [];
  await startNginx(t, await casesConf(t, ports));
  await assertCases(t, ports);
});

test('what goes to an upstream: the whole path that a rewrite made, or the replaced one', async (t) => {
  const backend = await httpBackend(t, (request, response) => response.end(request.url));
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /a/ { rewrite ^/a/(.*)$ /x/$1 break; proxy_pass http://127.0.0.1:${backend.port}/ignored/; }
        location /b/ { rewrite ^/b/(.*)$ /c/$1 last; }
        location /c/ { proxy_pass http://127.0.0.1:${backend.port}/replaced/; }
        location /d/ { set $target 127.0.0.1:${backend.port}; proxy_pass http://$target; }
        location /e/ { if ($arg_x) { proxy_pass http://127.0.0.1:${backend.port}; } return 200 own; }
        location /f/ { proxy_pass http://127.0.0.1:${backend.port}; if ($arg_x) { add_header X-If yes; } }
      }
    }`,
  );
  const body = async (path: string): Promise<string> => (await get(srv.port('web'), path)).body;
  t.is(await body('/a/1%202?q'), '/x/1%202?q');
  t.is(await body('/b/1?q'), '/replaced/1?q');
  t.is(await body('/d/1?q'), '/d/1?q');
  t.is(await body('/e/1?x=1'), 'own', 'return comes before any content');
  const inBlock = await get(srv.port('web'), '/f/1?x=1');
  t.deepEqual([inBlock.body, inBlock.headers['x-if']], ['/f/1?x=1', 'yes'], 'the content of the location with the settings of the block');
  t.is((await get(srv.port('web'), '/f/1')).headers['x-if'], undefined);
});

test('with aio threads a slow file system stops only the requests that look at it', async (t) => {
  // The thread that looks at files waits for a writer of this FIFO.
  const folder = tempFolder(t);
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const opener = plugin('opener', {
    imports: `import { open } from 'node:fs';`,
    manifest: `directives: { opener: directive({ in: ['location'], args: text() }) }`,
    body: `compile(scope) {
      if (scope.conf.opener === undefined) return undefined;
      return { content(request) { open(scope.conf.opener, () => undefined); return request.send(200, 'opened', 'text/plain'); } };
    }`,
  });
  const srv = await startSrv(
    t,
    `load_module modules/opener.js; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      aio threads;
      location /open { opener ${fifo}; }
      location /test { set $x 1; if (-e ${fifo}) { set $x 12; } if (-f ${fifo}) { set $x no; } return 200 $x; }
      location /late { handler_timeout 100ms; error_page 504 /timeout; if (-f ${fifo}) { } if (-e ${fifo}) { rewrite ^ /test last; } return 200 no; }
      location /timeout { return 504 late; }
      location / { return 200 other; } } }`,
    { files: { 'modules/opener.js': opener }, env: { UV_THREADPOOL_SIZE: '1' } },
  );
  const body = async (path: string): Promise<string> => (await get(srv.port('web'), path)).body;
  t.is(await body('/open'), 'opened');
  let seen = false;
  const waiting = body('/test').finally(() => (seen = true));
  t.is(await body('/late'), 'late');
  t.is(await body('/'), 'other');
  t.false(seen);
  closeSync(openSync(fifo, 'w'));
  t.is(await waiting, '12');
  t.is(await body('/'), 'other', 'what timed out does not come back');
});

test('rewrite_log and uninitialized_variable_warn', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log notice; events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /on { rewrite_log on; rewrite ^/on(.*) /shown$1?a last; rewrite ^/x /y; }
        location /off { rewrite ^/off(.*) /shown$1 last; }
        location /warn { return 200 "[$never]"; }
        location /quiet { uninitialized_variable_warn off; return 200 "[$silent]"; }
        location /shown { if ($arg_z) { set $never 1; set $silent 1; } return 200; }
      }
    }`,
  );
  for (const path of ['/on1', '/off1', '/warn', '/quiet']) await get(srv.port('web'), path);
  await srv.waitForLog(/using uninitialized "never" variable/);
  const log = srv.log();
  t.true(log.includes('"^/on(.*)" matches "/on1"'));
  t.true(log.includes('rewritten data: "/shown1", args: "a"'));
  t.false(log.includes('/off1" matches') || log.includes('uninitialized "silent"'));
});

/** Appends a word to a header field of the response, in the phase of this module. */
const marker = (name: string, order: string): string =>
  plugin(name, {
    imports: `import { DECLINED } from 'srv/module/http.js';`,
    manifest: `${order} directives: { ${name}: directive({ in: ['location', 'if in location'], args: text() }) }`,
    body: `compile(scope) {
      const word = scope.conf.${name};
      return word && { rewrite: (request) => { request.response.append('X-Marks', word); return DECLINED; } };
    }`,
  });

test('handlers of other modules in the phase run once each, those after this module as the block of an if says', async (t) => {
  const srv = await startSrv(
    t,
    `load_module modules/early.js; load_module modules/late.js; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      location / {
        early e1; late l1;
        if ($arg_a) { early e2; late l2; set $x a; }
        if ($arg_b) { early e3; late l3; set $x b; }
        proxy_pass http://127.0.0.1:%%PORT_back%%;
      } }
      server { listen 127.0.0.1:%%PORT_back%%; return 200; } }`,
    {
      files: {
        'modules/early.js': marker('early', `before: 'srv_http_rewrite_module',`),
        'modules/late.js': marker('late', ''),
      },
    },
  );
  const marks = async (query: string): Promise<unknown> => (await get(srv.port('web'), `/${query}`)).headers['x-marks'];
  t.is(await marks(''), 'e1, l1');
  t.is(await marks('?a=1'), 'e1, l2');
  t.is(await marks('?b=1'), 'e1, l3');
  t.is(await marks('?a=1&b=1'), 'e1, l3');
});

for (const [conf, message] of Object.entries({
  'rewrite ^/a /b sometimes;': 'invalid parameter "sometimes"',
  'set a b;': 'invalid variable name "a"',
  'set $uri b;': 'the duplicate "uri" variable',
  'if $arg_a { }': 'invalid condition "$arg_a"',
  'if ($arg_a > 1) { }': 'unexpected ">" in condition',
  'if (a = 1) { }': 'invalid condition "a"',
  'if ($nowhere) { }': 'unknown "nowhere" variable',
  'return 200 $nowhere;': 'unknown "nowhere" variable',
  'location / { if ($arg_a) { if ($arg_b) { } } }': '"if" directive is not allowed here',
  'if ($arg_a) { proxy_pass http://127.0.0.1; }': '"proxy_pass" directive is not allowed here',
})) {
  test(`rejected: ${conf}`, async (t) => {
    const run = await check(t, `events {} http { server { ${conf} } }`);
    t.true(run.stderr.includes(`[emerg] ${message} in`), run.stderr);
  });
}
