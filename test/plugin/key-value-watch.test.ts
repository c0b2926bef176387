import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Sets pairs by way of the main thread, and keeps what both threads hear of it. */
const WATCHING = plugin('watching', {
  imports: `import { Channels } from 'srv/module/channels.js'; import { KeyValue } from 'srv/module/key-value.js';`,
  manifest: `directives: { watched: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Channels, KeyValue];
  constructor(channels, pairs) {
    this.pairs = pairs.space('acme');
    this.seen = [];
    this.channel = channels.open('heard', {
      told: ([key, value, ttl]) => {
        const change = value === '' ? this.pairs.delete(key) : this.pairs.set(key, value, { ttl: Number(ttl) });
        // A worker that is busy for longer, as with its first stack, follows later.
        change.catch(() => undefined);
      },
    });
  }
  start(role) {
    this.pairs.watch('k', (key, value) => {
      this.seen.push(key + '=' + value);
      if (value === 'throw') throw new Error('watched to throw');
      if (role === 'master') void this.channel.publish(this.seen.join(' '));
    });
  }
  compile(scope) {
    if (scope.conf.watched === undefined) return undefined;
    return {
      content: (request) => {
        const argument = (name) => request.variable('arg_' + name) ?? '';
        if (argument('key') !== '') this.channel.tell([argument('key'), argument('value'), argument('ttl') || '0']);
        return request.send(200, this.seen.join(' ') + ' | ' + this.channel.value + ' | ' + this.pairs.get('k1'));
      },
    };
  }`,
});

const conf = (load: string, location: string): string => `${load} worker_processes 1; error_log logs/error.log notice; events {}
  http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} } } }`;

test('a module hears of changes of its pairs in each thread, of those that expire too, and of none when it has ended', async (t) => {
  const srv = await startSrv(t, conf('load_module modules/watching.js;', 'watched yes;'), { files: { 'modules/watching.js': WATCHING } });
  const port = srv.port('web');
  const shows = (text: string): Promise<unknown> => waitFor(text, async () => (await get(port, '/')).body === text);
  await get(port, '/?key=k1&value=one');
  await shows('k1=one | k1=one | one');
  await get(port, '/?key=other&value=one');
  await get(port, '/?key=k1&value=');
  await shows('k1=one k1=undefined | k1=one k1=undefined | undefined');
  await get(port, '/?key=k2&value=short&ttl=50');
  await shows('k1=one k1=undefined k2=short k2=undefined | k1=one k1=undefined k2=short k2=undefined | undefined');
  await get(port, '/?key=k3&value=throw');
  await srv.waitForLog(/module "watching": watching key-value pairs failed: Error: watched to throw/);
  await srv.configure(conf('', 'return 200 unloaded;'));
  srv.signal('SIGHUP');
  await waitFor('the module to be out of force', async () => (await get(port, '/')).body === 'unloaded');
  t.pass();
});
