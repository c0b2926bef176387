/** The types of arguments that several modules share, with nginx's forms and messages (limit_req_zone of nginx 1.22 said the same). */
import test from 'ava';
import { readDirective } from '../../core/config/conf.js';
import { ConfigErrors } from '../../core/config/errors.js';
import { parseText } from '../../core/config/parser.js';
import { Signature } from '../../core/contract/arguments.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { validate } from '../../core/config/validate.js';
import { SpecRegistry } from '../../core/config/registry.js';
import { requestRate, requiredParam, text, zone, zoneSync } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';
import { argContext } from '../config/nginx-specs.js';

const limitReqZone = directive({
  in: ['http'],
  args: { key: text('key'), zone: requiredParam('zone', zone()), rate: requiredParam('rate', requestRate()), sync: zoneSync() },
  many: true,
});

function messages(line: string): readonly string[] {
  const registry = new SpecRegistry();
  registry.register('srv_http_limit_req_module', { limit_req_zone: limitReqZone });
  const { directives } = parseText(line, { ids: new IdSource(), file: '(test)' });
  return validate(directives, { registry, args: argContext, context: 'http' }).map(({ message }) => message);
}

function value(line: string): unknown {
  const { directives, errors } = parseText(line, { ids: new IdSource(), file: '(test)' });
  if (errors.length > 0) throw new ConfigErrors(errors);
  const [parsed] = ConfigTree.fromData(directives).root;
  if (parsed === undefined) throw new Error('no directive');
  return readDirective(new Signature(limitReqZone), parsed, argContext);
}

const ACCEPTED: readonly (readonly [line: string, zone: { name: string; size: number }, rate: number, sync?: string])[] = [
  ['limit_req_zone $k zone=one:10m rate=10r/s', { name: 'one', size: 10 * 1024 ** 2 }, 10_000],
  ['limit_req_zone $k rate=30r/m zone=one:32k', { name: 'one', size: 32 * 1024 }, 500],
  ['limit_req_zone $k zone=one:65536 rate=1r/m', { name: 'one', size: 65_536 }, 16],
  ['limit_req_zone $k zone=one:10m rate=7', { name: 'one', size: 10 * 1024 ** 2 }, 7000],
  ['limit_req_zone $k zone=one:32k sync rate=7', { name: 'one', size: 32 * 1024 }, 7000, ''],
  ['limit_req_zone $k sync=main zone=one:32k rate=7', { name: 'one', size: 32 * 1024 }, 7000, 'main'],
];

for (const [line, size, rate, sync] of ACCEPTED) {
  test(`accepted: ${line}`, (t) => {
    t.deepEqual(messages(line), []);
    t.deepEqual(value(line), { key: '$k', zone: size, rate, sync });
  });
}

const REJECTED: readonly (readonly [line: string, message: string])[] = [
  ['limit_req_zone $k zone=one:32k rate=1r/s sync=a=b', 'invalid name "a=b"'],
  ['limit_req_zone $k zone=one rate=1r/s', 'invalid zone size "zone=one"'],
  ['limit_req_zone $k zone=one:5x rate=1r/s', 'invalid zone size "zone=one:5x"'],
  ['limit_req_zone $k zone=one:10m:3 rate=1r/s', 'invalid zone size "zone=one:10m:3"'],
  ['limit_req_zone $k zone=one:-1 rate=1r/s', 'invalid zone size "zone=one:-1"'],
  ['limit_req_zone $k zone=one:31k rate=1r/s', 'zone "zone=one:31k" is too small'],
  ['limit_req_zone $k zone=one:10m rate=0r/s', 'invalid rate "rate=0r/s"'],
  ['limit_req_zone $k zone=one:10m rate=1r/h', 'invalid rate "rate=1r/h"'],
  ['limit_req_zone $k zone=one:10m rate=1.5r/s', 'invalid rate "rate=1.5r/s"'],
  ['limit_req_zone $k zone=one:10m rate=10R/s', 'invalid rate "rate=10R/s"'],
  ['limit_req_zone $k rate=1r/s sync', '"limit_req_zone" must have "zone" parameter'],
  ['limit_req_zone $k zone=one:10m', 'invalid number of arguments in "limit_req_zone" directive'],
  ['limit_req_zone $k zone=one:10m rate=1r/s foo=1', 'invalid parameter "foo=1"'],
];

for (const [line, message] of REJECTED) {
  test(`rejected: ${line}`, (t) => {
    t.deepEqual(messages(line), [message]);
  });
}
