import test from 'ava';
import { ExchangeSettings, type ExchangeScope } from '../../core/toolkit/exchange/exchange-settings.js';
import { unprefixer } from '../../core/toolkit/exchange/prefix.js';

/** A configuration that notes which of its values are read. */
function noting(values: Readonly<Record<string, unknown>>, reads: string[]): object {
  return new Proxy(values, { get: (target, name) => (reads.push(String(name)), target[String(name)]) });
}

test('a value is read when it is asked for by its name without the prefix', (t) => {
  const reads: string[] = [];
  const view = unprefixer<Record<string, never>>('proxy', ['a', 'b'])(noting({ proxy_a: 1, proxy_b: 2 }, reads));
  t.deepEqual(reads, []);
  t.is((view as { readonly b?: unknown }).b, 2);
  t.deepEqual(reads, ['proxy_b']);
});

test('sizes are compared once for all places with one configuration', (t) => {
  const reads: string[] = [];
  const conf = noting(
    { proxy_buffers: { count: 8, size: 4096 }, proxy_buffer_size: 4096, proxy_max_temp_file_size: 0, proxy_temp_path: {} },
    reads,
  );
  const scope = { conf, lines: () => [], fail: (message: string) => t.fail(message) } as unknown as ExchangeScope<'proxy'>;
  const settings = new ExchangeSettings('proxy', []);
  settings.assert(scope);
  const first = reads.length;
  t.true(first > 0);
  settings.assert({ ...scope });
  t.is(reads.length, first);
});
