/** Modules that balance and check upstreams in ways that do not fit are rejected, with the upstream or what is expected. */
import test from 'ava';
import { check } from '../harness/check.js';
import { plugin } from '../harness/plugins.js';

test('rejected: a balancer that is none', async (t) => {
  const source = plugin('acme', {
    manifest: `directives: { w: directive({ in: ['upstream'] }) }`,
    body: `balancer() { return { creat() {} }; }`,
  });
  const { code, stderr } = await check(t, 'load_module modules/acme.mjs; events {} http { upstream u { w; server 127.0.0.1:1; } }', {
    'modules/acme.mjs': source,
  });
  t.is(code, 1);
  t.regex(stderr, /"balancer" of module "acme" failed: it must return \{ create \} or \{ order \}, not \{ creat: /);
});

test('rejected: a balancer with an order that there is not', async (t) => {
  const source = plugin('acme', {
    manifest: `directives: { w: directive({ in: ['upstream'] }) }`,
    body: `balancer() { return { order: 'fastest' }; }`,
  });
  const { code, stderr } = await check(t, 'load_module modules/acme.mjs; events {} http { upstream u { w; server 127.0.0.1:1; } }', {
    'modules/acme.mjs': source,
  });
  t.is(code, 1);
  t.regex(stderr, /"balancer" of module "acme" failed: its order must be one of turns, load, [^]*, not 'fastest'/);
});

const checker = (name: string): string =>
  plugin(name, {
    manifest: `directives: { ${name}: directive({ in: ['upstream'] }) }`,
    body: `health({ conf }) { return conf.${name} && { create: () => ({ start() {}, added: () => 'up', changed() {}, removed() {}, stop() {} }) }; }`,
  });
const checkedBy = (lines: string): string =>
  `load_module modules/one.mjs; load_module modules/two.mjs; events {} http { upstream u { zone u 64k; ${lines} server 127.0.0.1:1; } }`;

test('rejected: two modules that check the same upstream', async (t) => {
  const files = { 'modules/one.mjs': checker('one'), 'modules/two.mjs': checker('two') };
  t.is((await check(t, checkedBy('two;'), files)).code, 0);
  const { code, stderr } = await check(t, checkedBy('one; two;'), files);
  t.is(code, 1);
  t.regex(stderr, /"one" and "two" both check the servers of upstream "u" in [^]*remove the directive of one of them/);
});
