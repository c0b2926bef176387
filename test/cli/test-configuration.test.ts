import { readdirSync, readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { runSrv, startSrv } from '../harness/srv.js';

test('-t of a good configuration says so in the words of nginx', async (t) => {
  const { code, stdout, stderr, prefix } = await runSrv(t, ['-t'], 'events {}\n');
  t.is(code, 0);
  t.is(stdout, '');
  t.is(
    stderr,
    `srv: the configuration file ${prefix}/conf/srv.conf syntax is ok\nsrv: configuration file ${prefix}/conf/srv.conf test is successful\n`,
  );
});

test('-q keeps quiet about success', async (t) => {
  const { code, stderr } = await check(t, 'events {}\n', {}, { args: ['-q'] });
  t.is(code, 0);
  t.is(stderr, '');
});

test('-t of a bad configuration reports every error and fails', async (t) => {
  const { code, stderr, prefix } = await check(t, 'foo on;\nworker_processes many;\nevents { bar; }\n', {}, { args: ['-q'] });
  t.is(code, 1);
  t.regex(stderr, /^srv: \[emerg\] unknown directive "foo" in .*\/conf\/srv\.conf:1\n/);
  t.regex(stderr, /^srv: \[emerg\] "worker_processes" directive invalid value in .*\/conf\/srv\.conf:2$/m);
  t.regex(stderr, /^srv: \[emerg\] unknown directive "bar" in .*\/conf\/srv\.conf:3$/m);
  t.true(stderr.endsWith(`srv: configuration file ${prefix}/conf/srv.conf test failed\n`));
});

test('an error is shown where it was made', async (t) => {
  const { stderr } = await check(t, 'events {}\n  daemon maybe;\n');
  t.regex(stderr, /^ {4}2 \| {3}daemon maybe;\n {6}\| {10}\^{5}$/m);
});

test('what is wrong is in the error log too', async (t) => {
  const { prefix } = await check(t, 'foo;\nevents {}\n', {}, { args: ['-e', 'other.log'] });
  t.regex(
    readFileSync(`${prefix}/other.log`, 'utf8'),
    /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d \[emerg\] \d+#0: unknown directive "foo" in .*srv\.conf:1\n$/,
  );
});

test('a missing configuration file is named', async (t) => {
  const { code, stderr, prefix } = await check(t, undefined);
  t.is(code, 1);
  t.true(stderr.startsWith(`srv: [emerg] open() "${prefix}/conf/srv.conf" failed (2: No such file or directory)\n`), stderr);
  t.true(stderr.endsWith(`srv: configuration file ${prefix}/conf/srv.conf test failed\n`));
});

test('-c and -p: the file is under the prefix, includes are beside the file', async (t) => {
  const files = { 'etc/main.conf': 'include parts/*.conf;\n', 'etc/parts/a.conf': 'events { worker_connections 8; }\n' };
  const { code, stderr, prefix } = await check(t, undefined, files, { args: ['-c', 'etc/main.conf'] });
  t.is(code, 0);
  t.true(stderr.includes(`${prefix}/etc/main.conf`));
});

test('-g brings directives of the main level', async (t) => {
  t.is((await check(t, 'events {}\n', {}, { args: ['-q', '-g', 'worker_processes 2; pid x.pid;'] })).code, 0);
});

for (const [globals, message] of [
  ['foo bar;', 'unknown directive "foo" in command line'],
  ['pid x', 'unexpected end of parameter, expecting ";" in command line'],
  ['http {}', 'block directives are not supported in -g option in command line'],
] as const) {
  test(`-g rejected: ${globals}`, async (t) => {
    const { code, stderr } = await check(t, 'events {}\n', {}, { args: ['-g', globals] });
    t.is(code, 1);
    t.true(stderr.includes(`srv: [emerg] ${message}\n`), stderr);
  });
}

test('what is suggested may be there, or it is said where', async (t) => {
  const hints = async (globals: string): Promise<string[]> => {
    const { stderr } = await check(t, 'events {}\n', {}, { args: ['-g', globals] });
    return [...stderr.matchAll(/^ {4}(.*)$/gm)].map(([, hint = '']) => hint);
  };
  t.deepEqual(await hints('nope x;'), []);
  t.deepEqual(await hints('worker_proceses 1;'), ['did you mean "worker_processes"?']);
  t.deepEqual(await hints('proxy_pas x;'), [
    'did you mean "proxy_pass"? It may stand in: location, if in location, limit_except, stream server',
  ]);
  t.deepEqual(await hints('access_log x;'), [
    'it may stand in: http, server, location, if in location, limit_except, stream, stream server',
  ]);
});

test('a warning is reported at -t, and is once in the log of a start', async (t) => {
  const conf = `events {} http { server { listen 127.0.0.1:%%PORT_web%%; server_name a/b; server_name a/b; } }`;
  const { code, stderr, prefix } = await check(t, conf);
  t.is(code, 0);
  t.is([...stderr.matchAll(/^srv: \[warn\] server name "a\/b" has suspicious symbols in .*:1$/gm)].length, 2, stderr);
  t.regex(stderr, /^srv: \[warn\] conflicting server name "a\/b" on 127\.0\.0\.1:\d+, ignored$/m);
  t.regex(readFileSync(`${prefix}/logs/error.log`, 'utf8'), /\[warn\] \d+#0: conflicting server name/);
  const srv = await startSrv(t, conf);
  t.is([...srv.log().matchAll(/\[warn\] .*conflicting server name "a\/b"/g)].length, 1, srv.log());
  t.is([...srv.log().matchAll(/\[warn\] .*suspicious symbols/g)].length, 2, srv.log());
});

test('a warning is reported once, whatever else is wrong', async (t) => {
  const { stderr } = await check(t, 'events {} http { allow 10.1.1.1/8; foo; server { listen 127.0.0.1:8001; } }');
  t.is([...stderr.matchAll(/\[warn\]/g)].length, 1, stderr);
});

test('where a module is missing, what cannot be a directive of it is reported, and what was not checked', async (t) => {
  const conf = `load_module modules/nope.so;
events { brotli 1; }
http {
  proxy_passs x; ssi on; proxy_cahe x;
  server { listen 127.0.0.1:8001; brotli on; add_heder a b; brotli_types text/css; }
}`;
  const { stderr } = await check(t, conf);
  t.regex(stderr, /^srv: \[warn\] not checked, because a module that may have them is missing: "brotli", "brotli_types"$/m);
  const [first, ...others] = messagesIn(stderr.replace(/ \(2: .*?\)/, ''));
  t.is(first, 'cannot load module "modules/nope.so"');
  t.deepEqual(
    others,
    ['proxy_passs', 'ssi', 'proxy_cahe', 'add_heder'].map((name) => `unknown directive "${name}"`),
    stderr,
  );
});

test('a name that is nearly one of nginx is not confused with another one', async (t) => {
  const { stderr } = await check(t, 'events {} http { server { listen 127.0.0.1:8001; location / { memcached_bidn x; } } }');
  t.regex(stderr, /^ {4}did you mean "memcached_bind"\? not supported by this version: /m);
});

test('a directive of -g that the file repeats is a duplicate', async (t) => {
  const { code, stderr } = await check(t, 'pid b.pid;\nevents {}\n', {}, { args: ['-g', 'pid a.pid;'] });
  t.is(code, 1);
  t.regex(stderr, /"pid" directive is duplicate in .*srv\.conf:1/);
});

test('a configuration without "events" is rejected, an empty one too', async (t) => {
  for (const text of ['', 'worker_processes 2;\n']) {
    const { code, stderr } = await check(t, text);
    t.is(code, 1);
    t.true(stderr.startsWith('srv: [emerg] no "events" section in configuration\n'), stderr);
  }
});

test('an "events" that a missing semicolon made a word of is there', async (t) => {
  const { stderr } = await check(t, 'daemon off\nevents {}\n');
  t.deepEqual(messagesIn(stderr), ['directive "daemon" is not terminated by ";"'], stderr);
  t.false(stderr.includes('no "events" section'), stderr);
  t.regex((await check(t, 'pid events;\n')).stderr, /no "events" section/);
});

test('-T prints every file under its name', async (t) => {
  const files = { 'conf/mime.types': '# types\ntypes { text/plain txt; }\n' };
  const { code, stdout, stderr, prefix } = await runSrv(t, ['-T'], 'events {}\nhttp { include mime.types; }\n', { files });
  t.is(code, 0, stderr);
  t.is(
    stdout,
    `# configuration file ${prefix}/conf/srv.conf:\nevents {}\nhttp { include mime.types; }\n\n` +
      `# configuration file ${prefix}/conf/mime.types:\n# types\ntypes { text/plain txt; }\n\n`,
  );
});

test('-T prints the configurations of the helpers too, each file once', async (t) => {
  const conf = `include shared.conf;
helper broker modules/srv_helper_broker_module.so conf/broker.conf;
helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
`;
  const files = { 'conf/shared.conf': 'events {}\n', 'conf/broker.conf': '# the bus\n', 'conf/ctrl.conf': 'include shared.conf;\n' };
  const { code, stdout, stderr, prefix } = await check(t, conf, files, { args: ['-T'] });
  t.is(code, 0, stderr);
  const names = ['srv.conf', 'shared.conf', 'broker.conf', 'ctrl.conf'] as const;
  const texts = { ...files, 'conf/srv.conf': conf };
  t.is(stdout, names.map((name) => `# configuration file ${prefix}/conf/${name}:\n${texts[`conf/${name}`]}\n`).join(''));
});

test('-t of a configuration that does not exist leaves nothing behind', async (t) => {
  const { code, prefix } = await runSrv(t, ['-t']);
  t.is(code, 1);
  t.deepEqual(readdirSync(prefix), []);
});

test('-T of a bad configuration prints no files', async (t) => {
  const { code, stdout } = await check(t, 'foo;\n', {}, { args: ['-T'] });
  t.is(code, 1);
  t.is(stdout, '');
});

/** Lines with errors that `-t` reports, and lines that the configuration marks. */
async function errorLines(
  t: ExecutionContext,
  text: string,
  mark: string,
): Promise<readonly [reported: number[], marked: number[], stderr: string]> {
  const { code, stderr } = await check(t, text);
  t.is(code, 1);
  const reported = [...stderr.matchAll(/^srv: \[emerg\] .* in .*:(\d+)$/gm)].map(([, line]) => Number(line));
  const marked = text.split('\n').flatMap((line, index) => [...line.matchAll(new RegExp(`\\b${mark}\\b`, 'g'))].map(() => index + 1));
  return [reported, marked, stderr];
}

const MANY_ERRORS = `
foo on;                                               # first
daemon perhaps;                                       # first
worker_processes 0;                                   # first
worker_processes 2;                                   # first
pid;                                                  # first
user a b c;                                           # first
error_log logs/x.log loud;                            # first
env;                                                  # first
listen 80;                                            # first
events { worker_connections none; }                   # first
http {
  server {
    listen 127.0.0.1:8001;
    keepalive_timeout soon;                           # first
    client_max_body_size 1x;                          # first
    return;                                           # first
    merge_slashes 2;                                  # first
    sendfile perhaps;                                 # first
    proxy_pass http://127.0.0.1:9;                    # first
    location / { proxy_connect_timeout x; }           # first
    location /a { add_header; }                       # first
    location /x { proxy_pas http://x; }               # first
  }
  upstream u { server 1.2.3.4:99999; server 127.0.0.1:1; } # first
  server {
    listen 127.0.0.1:8001 loud;                       # first
    listen 8003
    server_name x;                                    # first
  }
  upstream bad { server no.such.host.invalid; zone bad 1k; } # second second
  server { listen 127.0.0.1:99999; }                  # first
  server {
    listen 127.0.0.1:8001x;                           # first
    server_name good ~( *.a.*;                        # first first
    location / { proxy_pass http://no.such.host.invalid; } # second
    location /a { proxy_pass http://127.0.0.1:99999; } # second
    location ~ "(" { return 204; }                    # second
    error_page 200 /e;                                # second
    error_page 600 /e;                                # second
  }
  server {
    listen 127.0.0.1:8002;
    listen 127.0.0.1:8002;                            # second
    location /twice { }
    location /twice { }                               # second
    location /format { access_log logs/a.log nope; }  # second
  }
}
`;

test('all errors of a text are reported; those of what it means, all of them, once it has none', async (t) => {
  const [text, first, stderr] = await errorLines(t, MANY_ERRORS, 'first');
  t.deepEqual(text, first, stderr);
  t.true(stderr.includes('is ";" missing after "8003"'), stderr);

  const mended = MANY_ERRORS.replaceAll(/^.*# first(?: first)?$/gm, (line) => (line.startsWith('events') ? 'events { }' : '')).replace(
    '    listen 8003\n',
    '',
  );
  const [meaning, second, again] = await errorLines(t, mended, 'second');
  t.deepEqual(meaning, second, again);
});

test('what follows from an error is not reported as another one', async (t) => {
  const conf = `
events {}
http {
  upstream shop { server 127.0.0.1:1 wait=2; }
  server { listen 127.0.0.1:8001; location / { proxy_pass http://shop; } }
}
`;
  const { stderr } = await check(t, conf);
  t.deepEqual(
    [...stderr.matchAll(/^srv: \[emerg\] (.*) in .*:\d+$/gm)].map(([, text]) => text),
    ['invalid parameter "wait=2"'],
    stderr,
  );
});

/** Messages of errors, without their places. */
function messagesIn(stderr: string): (string | undefined)[] {
  return [...stderr.matchAll(/^srv: \[emerg\] (.*?) in \S+:\d+$/gm)].map(([, text]) => text);
}

for (const [lines, message] of [
  ['server nosuchhost.invalid; server 127.0.0.1:1;', 'host not found in upstream "nosuchhost.invalid"'],
  ['server 127.0.0.1:99999;', 'invalid port in upstream "127.0.0.1:99999"'],
  ['server unix:;', 'no path in the unix domain socket in upstream "unix:"'],
  ['zone z 8k; server 127.0.0.1:1;', 'zone "z" is too small'],
  ['', 'no servers are inside upstream'],
] as const) {
  test(`who passes requests to an upstream with an error is not reported that it is missing: ${message}`, async (t) => {
    const conf = `events {} http {
  upstream bad { ${lines} }
  upstream good { server 127.0.0.1:1; }
  server { listen 127.0.0.1:8001; location / { proxy_pass http://bad; } location /a { proxy_pass http://good; } }
}`;
    const { stderr } = await check(t, conf);
    t.deepEqual(messagesIn(stderr), [message], stderr);
  });
}

test('an error of a location does not hide those inside it', async (t) => {
  const conf = `events {} http { server {
  listen 127.0.0.1:8001;
  location / { return 200; }
  location / { proxy_pass http://127.0.0.1:99999; error_page 200 /e; location /b { } location = / { location /c { access_log logs/a.log nope; } } }
  location /x { proxy_pass http://127.0.0.1:99999; error_page 299 /x; }
} }`;
  const { stderr } = await check(t, conf);
  t.deepEqual(
    messagesIn(stderr),
    [
      'duplicate location "/"',
      'invalid port in upstream "127.0.0.1:99999"',
      'value "200" must be between 300 and 599',
      'location "/c" cannot be inside the exact location "/"',
      'unknown log format "nope"',
      'invalid port in upstream "127.0.0.1:99999"',
      'value "299" must be between 300 and 599',
    ],
    stderr,
  );
});

test('an error of an upstream does not hide those of its servers', async (t) => {
  const conf = `events {} http {
  upstream a { server also.invalid; server nosuchhost.invalid; zone a 1k; }
  upstream b { server nosuchhost.invalid backup; }
}`;
  const { stderr } = await check(t, conf);
  t.deepEqual(
    messagesIn(stderr),
    [
      'host not found in upstream "also.invalid"',
      'host not found in upstream "nosuchhost.invalid"',
      'zone "a" is too small',
      'no servers in upstream "b"',
      'host not found in upstream "nosuchhost.invalid"',
    ],
    stderr,
  );
});

test('every unknown variable of a value is reported', async (t) => {
  const conf = `events {} http { log_format x "$a" "$b$c"; server { listen 127.0.0.1:8001; location / { add_header X $d$e; return 200 "$f $g $f"; } } }`;
  const { stderr } = await check(t, conf);
  t.deepEqual(
    messagesIn(stderr),
    Array.from('abcdefg', (name) => `unknown "${name}" variable`),
    stderr,
  );
});

test('what is not a name of a field is rejected', async (t) => {
  const conf = `load_module modules/srv_http_multi_header_module.js;
events {} http {
  add_header "X A" v; add_header $http_name v; add_more_header "X:" v;
  proxy_set_header X/Y v; proxy_hide_header ""; proxy_pass_header X-A;
}`;
  const { stderr } = await check(t, conf);
  t.deepEqual(
    messagesIn(stderr),
    ['X A', 'X:', 'X/Y', ''].map((name) => `invalid header name "${name}"`),
    stderr,
  );
});

test('what follows from a statement that breaks off is not reported', async (t) => {
  const end = 'unexpected end of file, expecting ";" or "}"';
  for (const rest of [
    '"a',
    'foo',
    'http',
    'http { access_log',
    'http { log_format a "; server { listen 127.0.0.1:8001; access_log x a; }',
  ]) {
    const { stderr } = await check(t, `events {}\n${rest}`);
    t.deepEqual(messagesIn(stderr), [end], stderr);
  }
  const { stderr } = await check(t, 'events {}\nhttp {\nlog_format a ";\nserver { listen 127.0.0.1:8001; access_log x a; }\n}\n');
  t.deepEqual(messagesIn(stderr), [end], stderr);
});

test('what does not belong in a state file is reported once', async (t) => {
  const files = { 'demo.state': 'server 127.0.0.1:1;\nlisten 80;\nnobody knows;\nserver 127.0.0.1:2 wait=1;\n' };
  const conf = `load_module modules/srv_http_upstream_member_module.js;
events {} http { upstream u { zone z 64k; state demo.state; } }`;
  const { stderr } = await check(t, conf, files);
  const expected = [
    '"listen" directive is not allowed in this file',
    '"nobody" directive is not allowed in this file',
    'invalid parameter "wait=1"',
  ];
  t.deepEqual(messagesIn(stderr), expected, stderr);
});
