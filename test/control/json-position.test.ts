import test from 'ava';
import * as fc from 'fast-check';
import { jsonErrorAt } from '../../core/api/json-position.js';

test('the place of an error is named', (t) => {
  const cases: [string, number][] = [
    ['', 0],
    ['x', 0],
    ['{"a":\n x}', 7],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['{"a":1}}', 7],
    ['01', 1],
    ['"a', 2],
    ['"a\nb"', 2],
    [String.raw`"\x"`, 1],
    ['[', 1],
    ['{"a":', 5],
    ['tru', 0],
    ['[}', 1],
  ];
  for (const [text, position] of cases) t.is(jsonErrorAt(text), position, JSON.stringify(text));
});

test('deep nesting is no danger', (t) => {
  t.is(jsonErrorAt('['.repeat(1_000_000)), 1_000_000);
});

test('it agrees with JSON.parse about what is JSON', (t) => {
  const piece = fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '1', '-', '0', 'true', 'null', ' ', '"', '\\', '.5', 'e3', '\n');
  const texts = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
    fc.json(),
  );
  fc.assert(
    fc.property(texts, (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      return (jsonErrorAt(text) === text.length && valid) || (!valid && jsonErrorAt(text) <= text.length);
    }),
    { numRuns: 2000 },
  );
  t.pass();
});
