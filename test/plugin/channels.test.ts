import test from 'ava';
import { FakeChannels } from '../../testing/channels.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const LIST = plugin('list', {
  imports: `import { Channels } from 'srv/module/channels.js';`,
  manifest: `directives: { list: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Channels];
  constructor(channels) {
    this.changes = 0;
    this.channel = channels.open('list', {
      apply: (list, item) => [...list, item],
      changed: () => this.changes++,
      told: (item, worker) => {
        if (item === 'throw') throw new Error('told to throw');
        void this.channel.change(item + (worker >= 0 ? '' : '?'));
      },
    });
  }
  async start(role) {
    if (role === 'master') await this.channel.publish([]);
  }
  compile(scope) {
    const what = scope.conf.list;
    if (what === undefined) return undefined;
    return {
      content: (request) => {
        if (what === 'crash') setImmediate(() => { throw new Error('crash'); });
        if (what === 'add') this.channel.tell(request.variable('arg_item'));
        return request.send(200, this.channel.value?.join(' ') ?? 'none');
      },
    };
  }`,
});

const conf = (load: string): string => `
  ${load}
  worker_processes 2;
  error_log logs/error.log notice;
  events {}
  http { server { listen 127.0.0.1:%%PORT_web%%; ${load === '' ? 'return 200 unloaded;' : 'location /add { list add; } location /crash { list crash; } location / { list show; }'} } }`;

test('a channel is the same in every worker, in one that starts later too, and ends with its module', async (t) => {
  const loaded = conf('load_module modules/list.js;');
  const srv = await startSrv(t, loaded, { files: { 'modules/list.js': LIST }, allowCrashes: true });
  const port = srv.port('web');
  const shown = async (): Promise<string[]> => {
    const bodies = await Promise.all(Array.from({ length: 12 }, async () => (await get(port, '/')).body));
    return [...new Set(bodies)];
  };
  // Workers serve before the main thread has the channel, and what they tell it then is lost.
  await waitFor('the first list', async () => (await shown()).join() === '');
  const items = Array.from({ length: 40 }, (_, at) => `i${at}`);
  await Promise.all(items.map((item) => get(port, `/add?item=${item}`)));
  const [all = ''] = await waitFor('the same list everywhere', async () => {
    const lists = await shown();
    return lists.length === 1 && lists[0]?.split(' ').length === items.length ? lists : undefined;
  });
  t.deepEqual(all.split(' ').sort(), items.toSorted());
  await get(port, '/add?item=throw');
  await srv.waitForLog(/module "list": channel "list" failed: Error: told to throw/);

  const client = await connectRaw(t, port);
  client.send('GET /crash HTTP/1.1\r\nHost: a\r\n\r\n');
  await srv.waitForLog(/uncaught exception: Error: crash/);
  for (let round = 0; round < 3; round++) t.deepEqual(await shown(), [all]);

  await srv.configure(conf(''));
  srv.signal('SIGHUP');
  await waitFor('the module to be out of force', async () => (await shown()).join() === 'unloaded');
  await srv.configure(loaded);
  srv.signal('SIGHUP');
  await waitFor('a channel of its own', async () => (await shown()).join() === '');
  t.pass();
});

const apply = (list: readonly number[], item: number): number[] => [...list, item];

test('halves of a module in a unit test', async (t) => {
  const channels = new FakeChannels();
  const told: string[] = [];
  const seen: number[][] = [];
  const master = channels.master.open<number[], number, string>('numbers', {
    apply,
    told: (text, worker) => void told.push(`${worker} ${text}`),
  });
  const one = channels.worker().open<number[], number, string>('numbers', { apply, changed: (value) => void seen.push(value) });
  t.is(one.value, undefined);
  await t.throwsAsync(master.change(1), { message: /publish one first/ });
  const first = [1];
  await master.publish(first);
  first.push(99);
  await master.change(2);
  t.deepEqual(seen, [[1], [1, 2]]);
  const late = channels.worker().open<number[], number, string>('numbers', { apply });
  t.deepEqual(late.value, [1, 2]);
  late.tell('hello');
  t.deepEqual(told, ['1 hello']);
  await t.throwsAsync(one.publish([]), { message: /published in the main thread/ });
  t.throws(() => master.tell('x'), { message: /for workers/ });
  await t.throwsAsync(master.publish([() => 1] as never), { name: 'DataCloneError' });
});
