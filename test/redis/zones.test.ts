/** Zones that nodes share over a real Redis. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { BatchWriter } from '../../core/zone/sync/batch.js';
import type { ZoneHolds } from '../../core/zone/holds.js';
import type { ZoneRecords } from '../../core/zone/records.js';
import { USE_RECORDS } from '../../modules/captcha/challenges.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { ROOT } from '../docs/source-files.js';
import { waitFor } from '../harness/wait.js';
import { INTERVAL, ZoneNode } from './zone-node.js';

const COUNT = { fields: ['hits', 'bytes'], ttl: 60_000 } as const;
const LAST = { fields: ['value'], strings: { text: 16 }, ttl: 60_000 } as const;

interface Counting extends ZoneNode {
  readonly hits: ZoneRecords<'hits' | 'bytes'>;
  readonly last: ZoneRecords<'value', 'text'>;
  readonly conn: ZoneHolds;
}

type Opened<T> = ZoneNode & { of: T };

async function nodes<T>(
  t: ExecutionContext,
  names: string,
  { port }: RedisServer,
  open: (node: ZoneNode) => T,
): Promise<[Opened<T>, Opened<T>, ...Opened<T>[]]> {
  const all = Array.from(names, (name) => {
    const node = ZoneNode.start(t, name, port);
    return Object.assign(node, { of: open(node) });
  });
  await Promise.all(all.map((node) => node.share()));
  // Everyone has heard of everyone.
  await delay(3 * INTERVAL);
  return all as unknown as [Opened<T>, Opened<T>, ...Opened<T>[]];
}

testRedis('redis-server: counts of all nodes are added up', async (t) => {
  const server = await RedisServer.start(t);
  const all = await nodes(t, 'abc', server, (node) => node.records('hits', 'count', COUNT));
  const key = '\u0000\u00ff:{}\n';
  for (const [at, { of }] of all.entries()) for (let n = 0; n <= at; n++) of.add(key, 'hits', 1);
  all[0].of.update(key, (fields) => ((fields.bytes += 2.5), true), undefined);
  for (const { of } of all) await waitFor('all counts', () => of.get(key)?.hits === 6 && of.get(key)?.bytes === 2.5);
  await delay(4 * INTERVAL);
  for (const { of } of all) t.deepEqual(of.get(key), { hits: 6, bytes: 2.5 });
});

const openLast = (node: ZoneNode) => node.records('last', 'last', LAST);

testRedis(
  'redis-server: of a record the last change holds on all nodes, also of a node that comes later; deleted, it is gone',
  async (t) => {
    const server = await RedisServer.start(t);
    const [a, b] = await nodes(t, 'ab', server, openLast);
    const put = ({ of }: { of: ReturnType<typeof openLast> }, value: number, text: string) =>
      of.update('k', (fields) => Boolean(Object.assign(fields, { value, text })), undefined);
    put(a, 1, 'one');
    await waitFor('the other node', () => b.of.get('k') !== undefined);
    put(b, 2, 'two é');
    await waitFor('the first node', () => JSON.stringify(a.of.get('k')) === JSON.stringify({ value: 2, text: 'two é' }));
    a.of.update('gone', (fields) => Boolean(Object.assign(fields, { value: 3 })), undefined);
    await waitFor('the other node', () => b.of.get('gone') !== undefined);
    b.of.delete('gone');
    await waitFor('the first node', () => a.of.get('gone') === undefined);
    a.end();
    const [late] = await nodes(t, 'd', server, openLast);
    await waitFor('the stored record', () => late.of.get('k') !== undefined);
    t.deepEqual(late.of.get('k'), { value: 2, text: 'two é' });
    t.is(late.of.get('gone'), undefined);
    const keys = [...(await server.cli('KEYS', '*')).matchAll(/^\{srv:c\}:zone.*(?=\r)/gm)].map(([key]) => key);
    t.true(keys.length >= 3, keys.join());
    for (const key of keys) t.regex(await server.cli('PTTL', key), /^:[1-9]/, key);
  },
);

testRedis('redis-server: holds of all nodes count, until their node is gone', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = await nodes(t, 'ab', server, (node) => node.holds('conn'));
  t.is(a.of.acquire('k', 2), 'held');
  t.is(b.of.acquire('k', 2), 'held');
  await waitFor('both', () => a.of.count('k') === 2 && b.of.count('k') === 2);
  t.is(a.of.acquire('k', 2), 'rejected');
  a.of.release('k');
  await waitFor('the release', () => b.of.count('k') === 1);
  // A node that comes later gets to know what is held.
  const [late] = await nodes(t, 'c', server, (node) => node.holds('conn', 3));
  await waitFor('the new node', () => late.of.count('k') === 1);
  b.end();
  await waitFor('the node is gone', () => a.of.count('k') === 0 && late.of.count('k') === 0);
});

testRedis('redis-server: holds that are released while Redis is away for a moment are released on the others', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = await nodes(t, 'ab', server, (node) => node.holds('conn'));
  b.of.acquire('gone', 9);
  b.of.acquire('stays', 9);
  await waitFor('the other node', () => a.of.count('gone') === 1 && a.of.count('stays') === 1);
  await server.kill();
  await waitFor('away', () => b.connection.status.state === 'away');
  b.of.release('gone');
  await server.start();
  await waitFor('the release', () => a.of.count('gone') === 0);
  t.true(await waitFor('the rest', () => a.of.count('stays') === 1));
});

testRedis('redis-server: away, each node counts by itself; back, it goes on without the differences of that time', async (t) => {
  const server = await RedisServer.start(t);
  const both = await nodes(t, 'ab', server, (node) => ({
    hits: node.records('hits', 'count', COUNT),
    last: node.records('last', 'last', LAST),
    conn: node.holds('conn'),
  }));
  const [a, b] = both;
  b.of.conn.acquire('k', 9);
  await waitFor('the other node', () => a.of.conn.count('k') === 1);
  await server.kill();
  await waitFor('away', () => both.every(({ connection }) => connection.status.state === 'away'));
  for (let n = 0; n < 100; n++) a.of.hits.add('k', 'hits', 1);
  a.of.last.update('k', (fields) => ((fields.value = 7), true), undefined);
  await waitFor('the other node is gone', () => a.of.conn.count('k') === 0);
  t.is(b.of.hits.get('k'), undefined);
  await server.start();
  await waitFor('ready', () => both.every(({ connection }) => connection.status.state === 'ready'));
  await waitFor('the record', () => b.of.last.get('k')?.value === 7);
  await waitFor('the holds', () => a.of.conn.count('k') === 1);
  b.of.hits.add('k', 'hits', 1);
  await waitFor('the new count', () => a.of.hits.get('k')?.hits === 101);
  t.is(b.of.hits.get('k')?.hits, 1);
});

testRedis('redis-server: a user with the documented rights suffices; content of other programs is ignored', async (t) => {
  const server = await RedisServer.start(t);
  const rights = /ACL SETUSER srv on >PASSWORD (.*)/.exec(readFileSync(join(ROOT, 'docs/cluster.md'), 'utf8'))?.[1] ?? '';
  await server.cli('ACL', 'SETUSER', 'srv', 'on', '>secret', ...rights.split(' '));
  const [a, b] = ['a', 'b'].map((name) => {
    const node = ZoneNode.start(t, name, server.port, { user: 'srv', password: 'secret' });
    return Object.assign(node, {
      hits: node.records('hits', 'count', COUNT),
      last: node.records('last', 'last', LAST),
      conn: node.holds('conn'),
    });
  }) as [Counting, Counting];
  await a.share();
  const stream = `${a.connection.keys}zones`;
  const id = 'hits records hits,bytes count 0,1';
  const batch = (change: (bytes: Buffer) => unknown, key = 'damaged'): string => {
    const writer = new BatchWriter();
    writer.begin({ id, numbers: 2, valueLength: 0 });
    writer.add(Buffer.from(key), [1, 1]);
    const bytes = Buffer.from(writer.text, 'base64');
    change(bytes);
    return bytes.toString('base64');
  };
  const contents = [
    '',
    'no batch',
    'x'.repeat(2_000_000),
    batch((bytes) => bytes.writeUInt32LE(1, 0)),
    batch((bytes) => bytes.writeUInt16LE(65_535, 4)),
    batch((bytes) => bytes.writeUInt32LE(2 ** 32 - 1, 6 + id.length + 3)),
    batch((bytes) => bytes.writeDoubleLE(NaN, bytes.length - 8)),
    batch((bytes) => bytes.writeUInt8(9, 6 + id.length)),
  ];
  for (const [n, d] of contents.entries()) await server.cli('XADD', stream, '*', 'n', 'hostile', 's', String(n + 1), 'h', '0', 'd', d);
  await server.cli('XADD', stream, '*', 'other', 'program');
  await server.cli(
    'XADD',
    stream,
    '*',
    'n',
    'hostile',
    's',
    '-1',
    'h',
    '2',
    'd',
    batch(() => undefined, 'k'),
    'more',
    'x',
  );
  // The well-formed message counts, and the node goes on.
  await waitFor('the hostile count', () => a.hits.get('k')?.hits === 1);
  t.is(a.log.lines.filter((line) => line.includes('zones over redis "main": ignored')).length, 1);
  const period = Math.floor(Date.now() / 30_000);
  for (const key of [period, period - 1])
    await server.cli('HSET', `${a.connection.keys}zone:last records value,text:16 last last :${key}`, 'x', 'y', 'eA==', '');
  await b.share();
  b.hits.add('k', 'hits', 1);
  await waitFor('the count', () => a.hits.get('k')?.hits === 2);
  b.last.update('k', (fields) => Boolean(Object.assign(fields, { value: 5 })), undefined);
  await waitFor('the record', () => a.last.get('k')?.value === 5);
  b.conn.acquire('k', 1);
  await waitFor('the hold', () => a.conn.count('k') === 1);
  t.deepEqual(
    a.log.lines.filter((line) => line.includes('not shared')),
    [],
  );
});

testRedis('redis-server: another format, and keys of another type, are not touched', async (t) => {
  const server = await RedisServer.start(t);
  const node = Object.assign(ZoneNode.start(t, 'a', server.port), {});
  const hits = node.records('hits', 'count', COUNT);
  await server.cli('SET', '{srv:c}:zones:format', '9');
  await node.share();
  hits.add('k', 'hits', 1);
  await waitFor('the error', () => node.log.lines.some((line) => line.includes('the data has format 9')));
  t.regex(await server.cli('EXISTS', '{srv:c}:zones'), /:0/);
  await server.cli('DEL', '{srv:c}:zones:format');
  await waitFor('the end', () => node.log.lines.some((line) => line.includes('are shared over redis "main" again')));
  await server.cli('SET', '{srv:c}:zones', 'x');
  hits.add('k', 'hits', 1);
  await waitFor('the error', () =>
    node.log.lines.some((line) => line.includes('another program uses the prefix "srv", set another "prefix"')),
  );
  t.regex(await server.cli('GET', '{srv:c}:zones'), /x/);
});

testRedis('redis-server: a challenge that one node accepts while another one counts an attempt stays solved', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = await nodes(t, 'ab', server, (node) => node.records('sessions', 'last', USE_RECORDS));
  a.of.update('seed', (uses) => Boolean(Object.assign(uses, { solved: 1, issued: 5 })), undefined);
  await delay(2);
  b.of.update('seed', (uses) => Boolean(Object.assign(uses, { attempts: 2, issued: 5 })), undefined);
  for (const { of } of [a, b]) t.true(await waitFor('both', () => of.get('seed')?.solved === 1 && of.get('seed')?.attempts === 2));
});
