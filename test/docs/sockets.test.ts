/** Sockets are made and used through `core/net/transport`: what is beneath it can be another thing than the streams of Node.js. */
import test from 'ava';
import { importsOf, sourceFiles, type SourceFile } from './source-files.js';

/** Files below it are what knows the sockets of Node.js. */
const IMPLEMENTATION = 'core/net/transport/';

/** Functions of node:net on texts and addresses: they open nothing. */
const PURE = new Set(['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'SocketAddress']);

const USE =
  /^(?:import|export)\b(?: type\b)?(?<names>[^;'"]*?)from '(?:node:)?(?<from>net|tls|dgram)'|\b(?:import|require|getBuiltinModule)\('(?:node:)?(?<loaded>net|tls|dgram)'\)/gm;

/** Each module of Node.js for sockets that a file uses: `core/net/accept.ts: net`. */
function socketUses({ path, text }: Pick<SourceFile, 'path' | 'text'>): readonly string[] {
  const modules = [...text.matchAll(USE)].flatMap(({ groups }) => {
    const { names = '', from, loaded } = groups ?? {};
    const isPure = from === 'net' && /^\s*\{/.test(names) && namesIn(names).every((name) => PURE.has(name));
    return isPure ? [] : [from ?? loaded];
  });
  return [...new Set(modules)].map((name) => `${path}: ${name}`);
}

function namesIn(clause: string): readonly string[] {
  return clause
    .replaceAll(/[{}]/g, '')
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*/, ''),
    )
    .filter((name) => name !== '');
}

const usesIn = (text: string): readonly string[] => socketUses({ path: 'a.ts', text });

test('uses of sockets are found, in any of the ways there are', (t) => {
  t.deepEqual(usesIn("import { isIP, isIPv6 as isVersion6 } from 'node:net';"), []);
  t.deepEqual(usesIn("import { isIP, type Socket } from 'node:net';"), ['a.ts: net']);
  t.deepEqual(usesIn("import net, { isIP } from 'node:net';\nimport type { Socket } from 'node:net';"), ['a.ts: net']);
  t.deepEqual(usesIn("import type * as tls from 'node:tls';"), ['a.ts: tls']);
  t.deepEqual(usesIn("const dgram = await import('node:dgram');\nreturn process.getBuiltinModule('node:tls');"), [
    'a.ts: dgram',
    'a.ts: tls',
  ]);
});

test('nothing but the transport uses sockets of Node.js', (t) => {
  const files = sourceFiles('core', 'modules').filter(({ path }) => !path.startsWith(IMPLEMENTATION));
  t.deepEqual(files.flatMap(socketUses).toSorted(), []);
});

/** Clients that open sockets by themselves, for what is not traffic: HTTP of Node.js, and libraries. In workers there is none of them. */
const OTHER_CLIENTS = [
  'core/ctl/api-client.ts',
  'core/toolkit/tls/status-request.ts',
  'modules/members_from/url-list.ts',
  'modules/redis/redis-client.ts',
  'modules/telemetry/otlp-call.ts',
];

test('clients with sockets of their own are few, and known', (t) => {
  const use = /(?:from|import\(|getBuiltinModule\()\s*'(?:node:https?|undici|ioredis)'|[^#.\w]fetch\((?!url, \{ signal)/;
  const users = sourceFiles('core', 'modules').filter(({ text }) => use.test(text));
  t.deepEqual(users.map(({ path }) => path).toSorted(), OTHER_CLIENTS);
});

test('nothing but the transport chooses an implementation', (t) => {
  const files = sourceFiles('core', 'modules').filter(({ path }) => !path.startsWith(IMPLEMENTATION));
  const users = files.filter((file) => importsOf(file).some(({ target }) => /^core\/net\/transport\/.*\//.test(target)));
  t.deepEqual(
    users.map(({ path }) => path),
    [],
  );
});
