import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from './readme.js';

test('a reader learns the contract from a module of less than 100 lines', (t) => {
  const source = readFileSync(join(ROOT, 'modules/multi_header/srv_http_multi_header_module.ts'), 'utf8');
  t.true(source.split('\n').length < 100);
  t.regex(source, /@httpModule\(/);
});
