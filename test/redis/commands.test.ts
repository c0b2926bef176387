/** Commands that srv sends to Redis: all of them are in Redis 6.2 and Valkey, and the rights in the documentation are for them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { failureOf } from '../../modules/redis/redis-failure.js';
import { redisSettings } from './pairs-node.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDERS = ['core', 'modules'];

/** The version of Redis that each command came with, as its documentation says. */
const SINCE: Readonly<Record<string, string>> = {
  DEL: '1.0.0',
  EVAL: '2.6.0',
  EVALSHA: '2.6.0',
  EXISTS: '1.0.0',
  GET: '1.0.0',
  HDEL: '2.0.0',
  HELLO: '6.0.0',
  HEXISTS: '2.0.0',
  HGET: '2.0.0',
  HGETALL: '2.0.0',
  HLEN: '2.0.0',
  HMGET: '2.0.0',
  HSCAN: '2.8.0',
  HSET: '2.0.0',
  'MEMORY|USAGE': '4.0.0',
  PERSIST: '2.2.0',
  PEXPIRE: '2.6.0',
  PING: '1.0.0',
  RENAME: '1.0.0',
  SET: '1.0.0',
  TIME: '2.6.0',
  WAIT: '3.0.0',
  XADD: '5.0.0',
  XDEL: '5.0.0',
  XRANGE: '5.0.0',
  XREAD: '5.0.0',
  XTRIM: '5.0.0',
};

/** Options of these commands, with the version that they came with. */
const OPTIONS: Readonly<Record<string, string>> = {
  BLOCK: '5.0.0',
  COUNT: '2.8.0',
  MAXLEN: '5.0.0',
  MINID: '6.2.0',
  PX: '2.6.12',
  STREAMS: '5.0.0',
  USAGE: '4.0.0',
};

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.name.endsWith('.ts')) yield readFileSync(path, 'utf8');
  }
}

/** In scripts, over a connection of the service, and over one of the client. */
const SENT = /(?:redis\.p?call\(|\bcommand\(|#send\(|#ask\([\w#.]+, |\.call\()'([A-Z]+)'/g;

function inSources(pattern: RegExp): Set<string> {
  const found = new Set<string>();
  for (const folder of FOLDERS)
    for (const text of sources(join(ROOT, folder))) {
      if (!/redis/i.test(text)) continue;
      for (const [, word = ''] of text.matchAll(pattern)) found.add(word);
    }
  return found;
}

const isKnown = (version: string): boolean => version.localeCompare('6.2.0', 'en', { numeric: true }) <= 0;

test('all commands and their options are in Redis 6.2', (t) => {
  const commands = inSources(SENT);
  t.true(commands.has('EVALSHA') && commands.has('XREAD') && commands.has('TIME'));
  const names = [...commands].map((name) => (name === 'MEMORY' ? 'MEMORY|USAGE' : name));
  t.deepEqual(names.toSorted(), Object.keys(SINCE).toSorted());
  t.true([...Object.values(SINCE), ...Object.values(OPTIONS)].every(isKnown));
  const words = inSources(/(?:redis\.p?call\(|\bcommand\(|#send\(|#ask\(|\.call\(|\.script\()[^;\n]*?, '([A-Z]{2,})'/g);
  const options = [...words].filter((word) => !(word in SINCE) && word !== 'MEMORY');
  t.deepEqual(
    options.filter((word) => !(word in OPTIONS)),
    [],
  );
});

test('the documentation gives the right for each of them', (t) => {
  const text = readFileSync(join(ROOT, 'docs/cluster.md'), 'utf8');
  const [rights = ''] = /ACL SETUSER srv .*/.exec(text) ?? [];
  const given = new Set(Array.from(rights.matchAll(/\+(\w+)/g), ([, name = '']) => name.toUpperCase()));
  const isGiven = (name: string): boolean => given.has(name) || ['HELLO', 'PING'].includes(name);
  t.true(rights.includes(' +@connection '));
  t.deepEqual(
    Object.keys(SINCE).filter((name) => !isGiven(name)),
    ['MEMORY|USAGE'],
  );
  t.regex(text, /one more right in Redis, `\+memory\|usage`/);
});

const failure = (message: string) => failureOf(new Error(message), redisSettings(6379));

test('an error of a script has the same meaning in the form of Redis 6.2', (t) => {
  const at = 'ERR Error running script (call to f_1234): @user_script:3: ';
  for (const prefix of ['', at, `${at}@user_script: 3: -`]) {
    t.like(failure(`${prefix}NOPERM this user has no permissions to run the 'xadd' command`), { kind: 'rejected' });
    t.regex(failure(`${prefix}NOPERM this user has no permissions`).message, /the user has no right in Redis \(ACL\)/);
    t.like(failure(`${prefix}READONLY You can't write against a read only replica.`), { kind: 'rejected' });
  }
  t.regex(failure(`${at}The user executing the script can't run this command or subcommand`).message, /the user has no right in Redis/);
});
