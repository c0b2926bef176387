import test from 'ava';
import { assert, json, oneof, property, string } from 'fast-check';
import { parseNodeRecord } from '../../core/changes/node-record-form.js';

const RECORD = {
  id: 7,
  address: '10.0.0.5',
  srv: '0.1.0',
  epoch: 1,
  version: 12,
  state: 'in_sync',
  since: 1_700_000_000_000,
  isStale: false,
  files: { http: 'a1' },
  pairs: { state: 'in_sync', version: 3, isStale: false, local: 0 },
};

test('records of nodes are read, also with fields of a later version', (t) => {
  t.deepEqual(parseNodeRecord(JSON.stringify(RECORD)) as unknown, RECORD);
  const later = { ...RECORD, more: 1, entry: 13, reason: 'a module is missing', state: 'diverged' };
  t.deepEqual(parseNodeRecord(JSON.stringify(later)) as unknown, later);
});

test('what is not a record is none', (t) => {
  const wrong: readonly [keyof typeof RECORD | 'entry' | 'reason', unknown][] = [
    ['version', '12'],
    ['version', 1e308],
    ['epoch', -5],
    ['state', 'bogus'],
    ['since', 'x'],
    ['since', 1e16],
    ['files', null],
    ['files', [1]],
    ['files', { http: 1 }],
    ['reason', { a: 1 }],
    ['entry', 1.5],
    ['pairs', 'x'],
    ['pairs', { state: 'in_sync' }],
    ['isStale', undefined],
    ['address', 'x'.repeat(5000)],
  ];
  for (const [name, value] of wrong)
    t.is(parseNodeRecord(JSON.stringify({ ...RECORD, [name]: value })), undefined, `${name}: ${String(value)}`);
  for (const text of ['', '{', 'null', '5', '[]', '{}', '['.repeat(100_000)]) t.is(parseNodeRecord(text), undefined, text.slice(0, 9));
});

test('no text is an error', (t) => {
  assert(property(oneof(string(), json()), (text) => parseNodeRecord(text) === undefined));
  t.pass();
});
