/** One spec, read and written: what a directive says is the same as typed value, as text and as JSON of the API. */
import test from 'ava';
import * as fc from 'fast-check';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { StrictSchema } from '../../core/api/schema.js';
import {
  choice,
  flag,
  number,
  optional,
  param,
  path,
  requestRate,
  requiredParam,
  rest,
  size,
  template,
  text,
  time,
  word,
  zone,
} from '../../core/contract/args.js';
import { ApiError } from '../../core/contract/control.js';
import { DirectiveCodec } from '../../core/contract/directive-codec.js';
import { argSchemas, Type } from '../../core/contract/schema.js';
import { directive } from '../../core/contract/spec.js';
import { upstreamDirectives } from '../../core/toolkit/upstream.js';
import type { Directive } from '../../core/contract/tree.js';
import { anyText } from '../config/random-trees.js';

/** Every kind of argument. */
const everything = directive({
  in: ['http'],
  dynamic: true,
  args: {
    name: text('name'),
    mode: optional(choice('fast', 'exact'), 'fast'),
    count: optional(number({ max: 99 }), 5),
    zone: requiredParam('zone', zone()),
    limit: param('limit', size(), 1024),
    every: param('every', time(), 60_000),
    rate: param('rate', requestRate()),
    buffer: param('buffer', flag(), true),
    file: param('file', path()),
    value: param('value', template('value')),
    quiet: word('quiet'),
  },
  argDocs: { count: 'How many.', limit: 'How large.' },
});
const codec = new DirectiveCodec('everything', everything);

const list = directive({
  in: ['http'],
  dynamic: true,
  args: { name: text('name'), values: rest(number()), always: word('always') },
  many: true,
});
const lists = new DirectiveCodec('list', list);

function parsed(line: string): Directive {
  const { directives, errors } = parseText(line, { ids: new IdSource(), file: '(test)' });
  if (errors[0] !== undefined) throw errors[0];
  const [first, ...others] = ConfigTree.fromData(directives).root;
  if (first === undefined || others.length > 0) throw new Error(`not one directive: ${line}`);
  return first;
}

const WRITTEN: readonly (readonly [line: string, text: string])[] = [
  ['everything x zone=a:64k', 'everything x zone=a:64k;'],
  ['everything x fast 5 zone=a:65536 limit=1k every=1m buffer=on', 'everything x zone=a:64k;'],
  ['everything x exact zone=a:64k', 'everything x exact zone=a:64k;'],
  ['everything x fast 6 zone=a:64k', 'everything x fast 6 zone=a:64k;'],
  ['everything x quiet zone=a:1m every=1500ms limit=1025 rate=30r/m', 'everything x zone=a:1m limit=1025 every=1500ms rate=30r/m quiet;'],
  ['everything "a b" zone=a:1m buffer=off "file=x y" value=$uri', 'everything "a b" zone=a:1m buffer=off "file=x y" value=$uri;'],
];

for (const [line, text] of WRITTEN) {
  test(`only what differs from defaults is written: ${line}`, (t) => {
    t.is(codec.print(codec.read(parsed(line))), text);
  });
}

const values = fc.record({
  name: anyText.filter((value) => value !== ''),
  mode: fc.constantFrom('fast' as const, 'exact' as const),
  count: fc.nat(99),
  zone: fc.record({ name: fc.constantFrom('one', 'a b', '$x'), size: fc.integer({ min: 32_768, max: 2 ** 40 }) }),
  limit: fc.nat(),
  every: fc.nat({ max: 1e14 }),
  rate: fc.option(fc.constantFrom(16, 500, 1000, 7000, 33), { nil: undefined }),
  buffer: fc.boolean(),
  file: fc.option(anyText, { nil: undefined }),
  quiet: fc.boolean(),
});

test('what is written is read as the same value', (t) => {
  const property = fc.property(values, (some) => {
    const value = { ...some, value: undefined };
    t.deepEqual(codec.read(parsed(codec.print(value))), value);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 500 }));
});

test('what the API shows of a value makes the same value again, and fits what it accepts', (t) => {
  const { accepted } = argSchemas(everything);
  const { name, zone: zoneSchema, ...others } = accepted;
  const schema = new StrictSchema(Type.Object({ name, zone: zoneSchema, ...Type.Partial(Type.Object(others)).properties }));
  const plain = values.filter(
    ({ name, file, every }) => !/[\0-\u001F\u007F]/.test(name + (file ?? '')) && name.length < 100 && every < 1e12,
  );
  const property = fc.property(plain, (some) => {
    const value = { ...some, value: undefined };
    const json = codec.show(value);
    t.deepEqual(schema.read(json), { value: json });
    t.deepEqual(codec.create(json), value);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 300 }));
});

test('a change of some arguments leaves the others', (t) => {
  const before = codec.read(parsed('everything x exact zone=a:64k limit=8k quiet'));
  t.is(codec.print(codec.merge(before, { limit: '1m', quiet: false, every: 90 })), 'everything x exact zone=a:64k limit=1m every=90s;');
});

test('templates are changed as text', (t) => {
  const line = codec.read(parsed('everything x zone=a:64k "value=é $uri"'));
  t.is(codec.show(line).value, 'é $uri');
  t.is(codec.print(codec.merge(line, { value: '$host ü' })), 'everything x zone=a:64k "value=$host ü";');
});

test('everything that a type rejects is named with its place', (t) => {
  const before = codec.read(parsed('everything x zone=a:64k'));
  const error = t.throws(() => codec.merge(before, { zone: 'b:1k', rate: '0r/s', count: 3 }), { instanceOf: ApiError });
  t.is(error?.status, 400);
  t.deepEqual(error?.details, [
    { pointer: '/zone', message: 'zone "b:1k" is too small' },
    { pointer: '/rate', message: 'invalid rate "0r/s"' },
  ]);
});

test('lists are arrays', (t) => {
  const line = lists.read(parsed('list a 1 02 3 always'));
  t.deepEqual(lists.show(line), { name: 'a', values: [1, 2, 3], always: true });
  t.is(lists.print(lists.merge(line, { values: [7], always: false })), 'list a 7;');
});

test('a value that would be read as another argument is rejected', (t) => {
  const texts = directive({ in: ['http'], dynamic: true, args: { values: rest(text()), always: word('always') } });
  t.throws(() => new DirectiveCodec('texts', texts).print({ values: ['a', 'always'], always: false }), {
    message: '"always" would be read as a parameter of "texts"',
  });
});

test('the schema of a route has the ranges, defaults and descriptions of the spec', (t) => {
  const { accepted, shown } = argSchemas(upstreamDirectives.server);
  t.like(accepted.weight, { type: 'integer', minimum: 1, maximum: 65535, default: 1 });
  t.like(accepted.fail_timeout, { type: ['string', 'number'], default: '10s' });
  t.like(shown.fail_timeout, { type: 'string' });
  t.like(accepted.backup, { type: 'boolean', default: false });
  t.like(argSchemas(everything).accepted.count, { description: 'How many.' });
  t.like(argSchemas(everything).accepted.limit, { title: 'How large.' });
});

test('the API has no schema for what is not dynamic', (t) => {
  const { dynamic: _dynamic, ...fixed } = everything;
  t.throws(() => argSchemas(fixed), { message: 'the directive is not dynamic' });
  t.deepEqual(Object.keys(argSchemas({ ...everything, dynamic: ['limit', 'quiet'] }).accepted), ['limit', 'quiet']);
});
