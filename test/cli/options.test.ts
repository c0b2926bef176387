import test from 'ava';
import { OptionError, parseOptions } from '../../core/cli/options.js';
import { runSrv } from '../harness/srv.js';

test('letters may be joined, and a value may follow its letter at once', (t) => {
  const options = parseOptions(['-tq', '-p/srv', '-c', 'a.conf', '-g', 'daemon off;', '-e', 'stderr']);
  t.like(options, { test: true, quiet: true, prefix: '/srv', conf: 'a.conf', globals: 'daemon off;', errorLog: 'stderr' });
});

test('-T is -t with a dump', (t) => {
  t.like(parseOptions(['-T']), { test: true, dump: true });
});

for (const [args, message] of [
  [['-z'], 'invalid option: "z"'],
  [['start'], 'invalid option: "start"'],
  [['-s', 'restart'], 'invalid option: "-s restart"'],
  [['-s'], 'option "-s" requires parameter'],
  [['-c'], 'option "-c" requires file name'],
  [['-p'], 'option "-p" requires directory name'],
] as const) {
  test(`rejected: srv ${args.join(' ')}`, (t) => {
    t.throws(() => parseOptions(args), { instanceOf: OptionError, message });
  });
}

test('-v tells the version', async (t) => {
  const { code, stderr } = await runSrv(t, ['-v']);
  t.is(code, 0);
  t.regex(stderr, /^srv version: srv\/\d+\.\d+\.\d+\n$/);
});

test('-V says how it was built as well', async (t) => {
  const { code, stderr } = await runSrv(t, ['-V']);
  t.is(code, 0);
  t.regex(
    stderr,
    /^srv version: srv\/.+\n.*Node\.js.*\n.*OpenSSL.*\nTLS SNI support enabled\nevent methods: (?:epoll \(default(?:, with io_uring|; io_uring is not possible)?\), node|node \(epoll is not possible: .+\))\nconfigure arguments: --prefix=/,
  );
});

for (const option of ['-h', '-?']) {
  test(`${option} lists every option`, async (t) => {
    const { code, stderr } = await runSrv(t, [option]);
    t.is(code, 0);
    for (const letter of ['?,-h', 'v', 'V', 't', 'T', 'q', 's signal', 'p prefix', 'e filename', 'c filename', 'g directives']) {
      t.true(stderr.includes(`\n  -${letter} `), letter);
    }
  });
}

test('an unknown option is rejected with a way on', async (t) => {
  const { code, stderr } = await runSrv(t, ['-x']);
  t.is(code, 1);
  t.is(stderr, 'srv: invalid option: "x"\nsrv: "srv -h" lists the options\n');
});

test('a Node.js that is too old is rejected before anything else happens', async (t) => {
  const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })";
  const { code, stderr } = await runSrv(t, ['-t'], 'events {}', {
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(old)}` },
  });
  t.is(code, 1);
  t.regex(stderr, /^srv: \[emerg\] Node\.js 24 or later is needed, this is 20\.19\.0 \(.*\)\nsrv: "npm start"/);
});
