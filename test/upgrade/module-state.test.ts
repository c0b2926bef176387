import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { endWithTest, upgrade } from './replaced.js';

/** Keeps something of each request in every way that a module has: durable storage, a pair, records of its own memory, metrics, a channel. */
const KEEPING = plugin('keeping', {
  imports: `
    import { Channels } from 'srv/module/channels.js';
    import { KeyValue } from 'srv/module/key-value.js';
    import { Metrics } from 'srv/module/metrics.js';
    import { ServerInfo } from 'srv/module/server-info.js';
    import { Storage } from 'srv/module/storage.js';
    import { Zones } from 'srv/module/zones.js';`,
  manifest: `directives: { keep: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Channels, KeyValue, Metrics, ServerInfo, Storage, Zones];
  constructor(channels, pairs, metrics, info, storage, zones) {
    this.pairs = pairs;
    this.storage = storage;
    this.zones = zones;
    this.memory = zones.own('items', 65536);
    this.total = metrics.counter('keeping_items_total');
    this.sizes = metrics.histogram('keeping_sizes', [1, 10]);
    this.workers = metrics.gauge('keeping_workers');
    this.channel = channels.open('items', { apply: (items, item) => [...items, item], told: (item) => this.take(item) });
  }
  async start(role) {
    if (role === 'master') await this.channel.publish(this.storage.entries('item/').map(([key]) => key));
    else this.workers.add(1);
  }
  async take(item) {
    this.storage.write({ ['item/' + item]: 'kept' });
    await this.pairs.set('keeping/' + item, 'set');
    await this.channel.change('item/' + item);
  }
  compile(scope) {
    const { keep } = scope.conf;
    if (keep === undefined) return undefined;
    const records = this.zones.records(this.memory, { fields: ['count'], strings: { text: 16 } });
    if (keep === 'show') return { content: (request) => request.send(200, JSON.stringify({
      channel: this.channel.value, pair: this.pairs.get('keeping/one'), record: records.get('one'),
      total: this.total.value, sizes: this.sizes.value.count, workers: this.workers.value,
    })) };
    return { content: (request) => {
      records.update('one', (fields) => { fields.count++; fields.text = 'text'; return true; });
      this.total.add(2);
      this.sizes.observe(5);
      this.channel.tell(request.variable('arg_item'));
      return request.send(200, 'taken');
    } };
  }`,
});

interface Kept {
  readonly channel?: readonly string[];
  readonly pair?: string;
  readonly record?: Readonly<Record<string, unknown>>;
  readonly total: number;
  readonly sizes: number;
  readonly workers: number;
}

test('what modules keep is there after an upgrade, and after two: storage, pairs, memory, metrics; channels begin with it', async (t) => {
  const srv = await startSrv(
    t,
    `load_module modules/keeping.js; worker_processes 2; error_log logs/error.log notice; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location /keep { keep item; } location /show { keep show; } } }`,
    { files: { 'modules/keeping.js': KEEPING } },
  );
  endWithTest(t, srv);
  const shown = async (): Promise<Kept> => JSON.parse((await get(srv.port('web'), '/show')).body) as Kept;
  /** Both workers have the channel's value at last. */
  const eventually = (what: string, wanted: (kept: Kept) => boolean): Promise<unknown> =>
    waitFor(what, async () => (await Promise.all(Array.from({ length: 8 }, shown))).every(wanted));
  const keep = async (item: string): Promise<unknown> => get(srv.port('web'), `/keep?item=${item}`);

  await keep('one');
  await keep('two');
  await eventually('both items', ({ channel }) => channel?.join() === 'item/one,item/two');
  for (const [times, item] of [
    [1, 'three'],
    [2, 'four'],
  ] as const) {
    const before = await shown();
    await upgrade(srv);
    await eventually(`what was kept before upgrade ${times}`, ({ channel }) => channel?.join() === before.channel?.toSorted().join());
    const after = await shown();
    t.like(after, { ...before, channel: after.channel, workers: after.workers });
    t.like(after, { pair: 'set', record: { count: times + 1, text: 'text' }, total: 2 * (times + 1), sizes: times + 1 });
    await waitFor('the end of the old workers', async () => (await shown()).workers === 2);
    await keep(item);
    await eventually('another item', ({ channel }) => channel?.length === times + 2);
  }
  const { channel, ...rest } = await shown();
  t.deepEqual(channel?.toSorted(), ['item/four', 'item/one', 'item/three', 'item/two']);
  t.like(rest, { total: 8, sizes: 4, workers: 2 });
});
