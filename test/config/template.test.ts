import test from 'ava';
import * as fc from 'fast-check';
import { compileTemplate, parseTemplate } from '../../core/config/template.js';
import type { HttpRequest, VariableGetter } from '../../core/contract/http.js';

const request = {} as HttpRequest;
const lookup = (name: string): VariableGetter | undefined =>
  /^\w+$/.test(name) && name !== 'unknown' ? () => (name === 'unset' ? undefined : `<${name}>`) : undefined;

for (const [source, expected] of [
  ['', ''],
  ['plain text', 'plain text'],
  ['$host', '<host>'],
  ['${host}', '<host>'],
  ['a${host}b', 'a<host>b'],
  ['$host$uri', '<host><uri>'],
  ['$host:$port/x', '<host>:<port>/x'],
  ['a $b c $d e $f g', 'a <b> c <d> e <f> g'],
  ['$a$b$c$d', '<a><b><c><d>'],
  ['$1', '<1>'],
  ['$12', '<1>2'],
  ['$1abc', '<1>abc'],
  ['${12}', '<12>'],
  ['$a_B9-c', '<a_B9>-c'],
  ['$unset', ''],
  ['a${unset}b', 'ab'],
  ['a${unset}b${unset}c${unset}d', 'abcd'],
  ['{$host}', '{<host>}'],
  ['\\$host', '\\<host>'],
  ['line\n$host', 'line\n<host>'],
  ['日本$host語', '日本<host>語'],
] as const) {
  test(`${JSON.stringify(source)} gives ${JSON.stringify(expected)}`, (t) => t.is(compileTemplate(source, lookup).of(request), expected));
}

for (const [source, message] of [
  ['$', 'invalid variable name'],
  ['a $', 'invalid variable name'],
  ['$ a', 'invalid variable name'],
  ['$$host', 'invalid variable name'],
  ['$-', 'invalid variable name'],
  ['${', 'invalid variable name'],
  ['${}', 'invalid variable name'],
  ['${host', 'the closing bracket in "host" variable is missing'],
  ['${ho-st}', 'the closing bracket in "ho" variable is missing'],
  ['a $unknown b', 'unknown "unknown" variable'],
] as const) {
  test(`${JSON.stringify(source)} is rejected`, (t) => t.throws(() => compileTemplate(source, lookup), { message }));
}

test('only a text without variables is constant', (t) => {
  t.is(compileTemplate('a b', lookup).constant, 'a b');
  t.is(compileTemplate('', lookup).constant, '');
  t.is(compileTemplate('$a', lookup).constant, undefined);
});

test('a template asks for its variables again for every request', (t) => {
  let count = 0;
  const template = compileTemplate('$n', () => () => `${++count}`);
  t.deepEqual([template.of(request), template.of(request)], ['1', '2']);
});

test('the parts of a text put together are the text', (t) => {
  const name = fc.stringMatching(/^[a-z_]\w{0,5}$/);
  const constant = fc.string().map((text) => text.replaceAll('$', ''));
  const property = fc.property(fc.array(fc.tuple(constant, name)), (pairs) => {
    const source = pairs.map(([text, variable]) => `${text}\${${variable}}`).join('');
    const parts = parseTemplate(source);
    t.is(parts.map((part) => ('text' in part ? part.text : `\${${part.variable}}`)).join(''), source);
    t.is(
      compileTemplate(source, lookup).of(request),
      pairs.map(([text, variable]) => text + (variable === 'unset' ? '' : `<${variable}>`)).join(''),
    );
  });
  t.notThrows(() => fc.assert(property));
});
