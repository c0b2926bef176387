import { argType } from '../../core/contract/arg-type.js';
import test from 'ava';
import { ConfReader, ownDirective, ownDirectives } from '../../core/config/conf.js';
import { ConfigError } from '../../core/config/errors.js';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { choice, flag, number, optional, param, path, rest, size, template, text, time, word } from '../../core/contract/args.js';
import { ArgError, directive, type ArgContext, type ArgType, type Conf, type Directives } from '../../core/contract/spec.js';
import type { Block } from '../../core/contract/tree.js';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import { argContext } from './nginx-specs.js';

const LEVELS = ['http', 'server', 'location'] as const;

function blockOf(text: string): Block {
  const { directives, errors } = parseText(text, { ids: new IdSource(), file: '(test)' });
  if (errors[0] !== undefined) throw errors[0];
  return ConfigTree.fromData(directives).root;
}

/** Configurations of http, server and location, one in the other. */
function levels<D extends Directives>(reader: ConfReader<D>, ...texts: readonly string[]): readonly Conf<D>[] {
  const confs: Conf<D>[] = [];
  for (const [i, text] of texts.entries())
    confs.push(reader.read({ context: LEVELS[i] ?? 'location', block: blockOf(text) }, confs.at(-1), argContext));
  return confs;
}

function read<D extends Directives>(specs: D, text: string): Conf<D> {
  return new ConfReader(specs).read({ context: 'http', block: blockOf(text) }, undefined, argContext);
}

const of = (value: Template | undefined): string | undefined => value?.of({} as HttpRequest);

const everyType = {
  name: directive({ in: ['http'], args: text() }),
  count: directive({ in: ['http'], args: number() }),
  limit: directive({ in: ['http'], args: size() }),
  wait: directive({ in: ['http'], args: time() }),
  active: directive({ in: ['http'], args: flag() }),
  mode: directive({ in: ['http'], args: choice('fast', 'slow') }),
  value: directive({ in: ['http'], args: template() }),
  file: directive({ in: ['http'], args: path() }),
  names: directive({ in: ['http'], args: rest(text()) }),
  maybe: directive({ in: ['http'], args: optional(number(), 7) }),
  bare: directive({ in: ['http'] }),
} satisfies Directives;

test('one argument is the value itself, typed', (t) => {
  const conf = read(
    everyType,
    'name a; count 5; limit 8k; wait 1m30s; active on; mode slow; value "a $host"; file b; names c d; maybe; bare;',
  );
  const typed: {
    name: string | undefined;
    count: number | undefined;
    mode: 'fast' | 'slow' | undefined;
    names: readonly string[] | undefined;
  } = conf;
  t.is(typed.name, 'a');
  t.is(typed.count, 5);
  t.is(conf.limit, 8192);
  t.is(conf.wait, 90_000);
  t.is(conf.active, true);
  t.is(typed.mode, 'slow');
  t.is(of(conf.value), 'a <host>');
  t.is(conf.file, '/etc/srv/b');
  t.deepEqual(typed.names, ['c', 'd']);
  t.is(conf.maybe, 7);
  t.is(conf.bare, true);
});

test('what stands nowhere is undefined', (t) => {
  const conf = read(everyType, '');
  t.deepEqual([conf.name, conf.count, conf.bare, conf.names], [undefined, undefined, undefined, undefined]);
});

const member = {
  server: directive({
    in: ['http'],
    args: {
      address: text(),
      weight: param('weight', number({ min: 1 }), 1),
      route: param('route', text()),
      backup: word('backup'),
      down: word('down'),
    },
    many: true,
  }),
} satisfies Directives;

test('several arguments are an object; parameters and words stand in any order', (t) => {
  const conf = read(member, 'server a; server b down weight=3; server c route=x=y backup weight=2;');
  const servers: readonly {
    readonly address: string;
    readonly weight: number;
    readonly route: string | undefined;
    readonly backup: boolean;
  }[] = conf.server;
  t.deepEqual(
    servers.map((server) => ({ ...server })),
    [
      { address: 'a', weight: 1, route: undefined, backup: false, down: false },
      { address: 'b', weight: 3, route: undefined, backup: false, down: true },
      { address: 'c', weight: 2, route: 'x=y', backup: true, down: false },
    ],
  );
});

test('a parameter that is given twice counts the last time', (t) => {
  t.is(read(member, 'server a weight=2 weight=3;').server[0]?.weight, 3);
});

test('positional arguments are taken before words of the same text', (t) => {
  t.is(read(member, 'server down;').server[0]?.address, 'down');
  t.false(read(member, 'server down;').server[0]?.down);
});

const mixed = {
  header: directive({ in: ['http'], args: { name: text(), values: rest(template()), always: word('always') }, many: true }),
  log: directive({
    in: ['http'],
    args: { path: text(), format: optional(text(), 'combined'), buffer: param('buffer', size()), gzip: word('gzip') },
  }),
  zones: directive({ in: ['http'], args: { names: rest(text(), 0) } }),
} satisfies Directives;

test('the rest takes what is no word of the directive', (t) => {
  const [header] = read(mixed, 'header x a=1 always $host;').header;
  t.deepEqual([header?.name, header?.values.map(of), header?.always], ['x', ['a=1', '<host>'], true]);
  t.deepEqual(read(mixed, 'zones;').zones?.names, []);
});

test('an optional argument may be left out before parameters', (t) => {
  t.deepEqual({ ...read(mixed, 'log a buffer=1k;').log }, { path: 'a', format: 'combined', buffer: 1024, gzip: false });
  t.deepEqual({ ...read(mixed, 'log a gzip main;').log }, { path: 'a', format: 'main', buffer: undefined, gzip: true });
});

for (const [directive, message] of [
  ['header x;', 'invalid number of arguments in "header" directive'],
  ['header x always;', 'invalid number of arguments in "header" directive'],
  ['log;', 'invalid number of arguments in "log" directive'],
  ['log a b c;', 'invalid parameter "c"'],
  ['header a $nosuch;', 'unknown "nosuch" variable'],
] as const) {
  test(`${directive} throws when it is read`, (t) => {
    const conf = read(mixed, directive);
    const error = t.throws(() => [conf.header, conf.log], { instanceOf: ConfigError, message });
    t.is(error.source?.file, '(test)');
  });
}

const inheriting = {
  timeout: directive({ in: LEVELS, args: time(), default: '60s' }),
  tags: directive({ in: LEVELS, args: text(), many: true }),
  pages: directive({ in: LEVELS, args: { codes: rest(text()) }, many: true, inherit: 'append' }),
  pass: directive({ in: ['location'], args: text(), inherit: 'none' }),
  rules: directive({ in: LEVELS, args: text(), many: true, inherit: 'none' }),
  servers_only: directive({ in: ['http', 'server'], args: number(), default: '3' }),
} satisfies Directives;

test('a value comes from the nearest level that has it, else from the default', (t) => {
  const [http, server, location] = levels(new ConfReader(inheriting), '', 'timeout 5s;', '');
  t.deepEqual([http?.timeout, server?.timeout, location?.timeout], [60_000, 5000, 5000]);
});

test('any own directive of several replaces all the outer ones', (t) => {
  const [, server, location, inner] = levels(new ConfReader(inheriting), 'tags a; tags b;', '', 'tags c;', '');
  t.deepEqual([server?.tags, location?.tags, inner?.tags], [['a', 'b'], ['c'], ['c']]);
});

test('appended directives follow the outer ones', (t) => {
  const confs = levels(new ConfReader(inheriting), 'pages a b;', 'pages c;', '', 'pages d; pages e;');
  t.deepEqual(
    confs.map(({ pages }) => pages.map(({ codes }) => codes.join('+'))),
    [['a+b'], ['a+b', 'c'], ['a+b', 'c'], ['a+b', 'c', 'd', 'e']],
  );
});

test('what is not inherited ends with its block', (t) => {
  const [, , location, inner] = levels(new ConfReader(inheriting), 'rules a;', 'rules b;', 'rules c; pass x;', '');
  t.deepEqual([location?.rules, location?.pass, inner?.rules, inner?.pass], [['c'], 'x', [], undefined]);
});

test('a directive that may not stand in a context is not read from there', (t) => {
  const reader = new ConfReader(inheriting);
  const server = reader.read({ context: 'server', block: blockOf('servers_only 5;') }, undefined, argContext);
  const location = reader.read({ context: 'location', block: blockOf('servers_only 9;') }, server, argContext);
  t.is(location.servers_only, 5);
  t.is(reader.read({ context: 'upstream', block: blockOf('servers_only 9; timeout 1s;') }, undefined, argContext).timeout, 60_000);
});

test('inherited values are the very objects of the outer level', (t) => {
  const [http, server, location] = levels(new ConfReader(inheriting), 'pages a; tags x;', 'timeout 1s;', 'timeout 2s;');
  t.is(server?.pages, http?.pages);
  t.is(location?.pages, http?.pages);
  t.is(location?.tags, http?.tags);
});

test('a level that has nothing of the module is the outer one itself', (t) => {
  const [http, server, location, inner] = levels(new ConfReader(inheriting), 'tags a;', 'unrelated x;', 'rules a;', '');
  t.is(server, http);
  t.not(location, http);
  // Rules are not inherited, so that the inner one is another one.
  t.not(inner, location);
});

test('levels that have nothing of the module share one where the outer one has what is not inherited', (t) => {
  const reader = new ConfReader(inheriting);
  const [, server] = levels(reader, 'tags a;', 'rules a;');
  const inside = (body: string) => reader.read({ context: 'location', block: blockOf(body) }, server, argContext);
  const [one, other, own] = [inside('unrelated x;'), inside(''), inside('rules b;')];
  t.not(one, server);
  t.is(other, one);
  t.not(own, one);
  t.deepEqual([server?.rules, one.rules, own.rules], [['a'], [], ['b']]);
  t.is<readonly string[] | undefined, readonly string[] | undefined>(one.tags, server?.tags);
});

/** A type that counts how often it is read. */
function counted(reads: string[]): ArgType<string> {
  return argType({ kind: 'text', form: 'text', parse: (value) => (reads.push(value), value) });
}

test('values and defaults are parsed once, and only when they are asked for', (t) => {
  const reads: string[] = [];
  const specs = {
    a: directive({ in: LEVELS, args: counted(reads), default: 'd' }),
    b: directive({ in: LEVELS, args: counted(reads) }),
  } satisfies Directives;
  const [http, server, location] = levels(new ConfReader(specs), 'b x;', 'b y;', 'b z;');
  t.deepEqual(reads, []);
  for (const conf of [location, server, http, location]) t.is(conf?.a, 'd');
  t.deepEqual(reads, ['d']);
  t.deepEqual([location?.b, location?.b], ['z', 'z']);
  t.deepEqual(reads, ['d', 'z']);
});

test('a default is written as in a configuration', (t) => {
  const specs = {
    format: directive({ in: ['http'], args: { name: text(), parts: rest(text()) }, default: String.raw`a "b c" 'd\'e' f\nx` }),
    list: directive({ in: ['http'], args: text(), many: true, default: 'one' }),
  } satisfies Directives;
  const conf = read(specs, '');
  t.deepEqual({ ...conf.format }, { name: 'a', parts: ['b c', "d'e", 'f\nx'] });
  t.deepEqual(conf.list, ['one']);
});

test('the directives of a typed block are part of the value, with their defaults', (t) => {
  const inside = {
    size: directive({ in: ['pool'], args: number(), default: '5' }),
    tag: directive({ in: ['pool'], args: text(), many: true }),
  } satisfies Directives;
  const specs = {
    pool: directive({ in: ['http'], args: { name: text() }, many: true, block: { context: 'pool', directives: inside } }),
    limits: directive({ in: ['http'], block: { context: 'pool', directives: inside } }),
  } satisfies Directives;
  const conf = read(specs, 'pool a { size 7; tag x; tag y; } pool b { }');
  const [a, b] = conf.pool;
  t.is(a?.name, 'a');
  t.is(a?.block.size, 7);
  t.deepEqual(a?.block.tag, ['x', 'y']);
  t.is(b?.block.size, 5);
  t.deepEqual(b?.block.tag, []);
  t.is(conf.limits, undefined);
  t.is(read(specs, 'limits { size 9; }').limits?.block.size, 9);
});

test('two specs of one name are distinguished by their context', (t) => {
  const specs = {
    outer: directive({ name: 'if', in: ['server'], args: text() }),
    inner: directive({ name: 'if', in: ['location'], args: text() }),
  } satisfies Directives;
  const [, server, location] = levels(new ConfReader(specs), '', 'if a;', 'if b;');
  t.deepEqual([server?.outer, server?.inner], ['a', undefined]);
  t.deepEqual([location?.outer, location?.inner], ['a', 'b']);
});

test('directives may have any name', (t) => {
  const names = ['values', 'scope', 'parent', 'args', 'value', 'toString', '__proto__x', 'prototype'];
  const specs = Object.fromEntries(names.map((name) => [name, directive({ in: ['http'], args: text() })]));
  const conf = read(specs, names.map((name) => `${name} v-${name};`).join(' '));
  for (const name of names) t.is(conf[name], `v-${name}`);
});

test('a type may reject with its own words', (t) => {
  const port: ArgType<number> = argType({
    kind: 'number',
    form: 'port',
    parse(value) {
      if (value === '0') throw new ArgError('invalid port "0"', 'ports start at 1');
      return Number(value);
    },
  });
  const conf = read({ listen: directive({ in: ['http'], args: port }) }, 'listen 0;');
  const error = t.throws(() => conf.listen, { instanceOf: ConfigError, message: 'invalid port "0"' });
  t.like(error, { hint: 'ports start at 1', length: 1, source: { line: 1, column: 8 } });
});

test('directives of a block alone', (t) => {
  const block = blockOf('a 1; b; a 2;');
  t.is(ownDirective(block, 'a')?.args[0]?.text, '1');
  t.is(ownDirectives(block, 'a').length, 2);
  t.is(ownDirective(block, 'c'), undefined);
});

test('thousands of locations and dozens of modules are read in no time', (t) => {
  const modules = Array.from({ length: 40 }, (_, m) =>
    Object.fromEntries(Array.from({ length: 15 }, (_, d) => [`m${m}_d${d}`, directive({ in: LEVELS, args: text(), default: 'x' })])),
  );
  const readers = modules.map((specs) => new ConfReader(specs));
  const context: ArgContext = argContext;
  const outer = readers.map((reader) => reader.read({ context: 'server', block: blockOf('m1_d1 y;') }, undefined, context));
  const blocks = Array.from({ length: 5000 }, (_, i) => blockOf(`m${i % 40}_d3 z; m${(i * 7) % 40}_d4 z; other;`));
  const start = process.threadCpuUsage();
  let shared = 0;
  for (const block of blocks) {
    for (const [m, reader] of readers.entries()) if (reader.read({ context: 'location', block }, outer[m], context) === outer[m]) shared++;
  }
  const milliseconds = process.threadCpuUsage(start).user / 1000;
  t.log(`${milliseconds.toFixed(0)} ms for 200,000 configurations`);
  t.true(shared > 5000 * 37);
  t.true(milliseconds < 2000);
});
