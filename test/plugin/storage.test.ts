import { statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Keeps what requests bring, in the main thread. */
const KEEPING = plugin('keeping', {
  imports: `import { Channels } from 'srv/module/channels.js'; import { Storage } from 'srv/module/storage.js';`,
  manifest: `directives: { keep: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Channels, Storage];
  constructor(channels, storage) {
    this.storage = storage;
    this.channel = channels.open('kept', {
      told: (item) => {
        let outcome = 'kept';
        try { this.write(item); } catch (error) { outcome = error.name + ': ' + error.message; }
        void this.publish(outcome);
      },
    });
  }
  write(item) {
    if (item === 'long') return this.storage.write({ torn: 'x', long: 'y'.repeat(2 ** 20 + 1) });
    if (item === 'gone') return this.storage.write({ one: undefined, two: '2' });
    this.storage.write({ [item]: 'a ' + item });
  }
  publish(outcome) {
    return this.channel.publish(outcome + ' ' + JSON.stringify([this.storage.get('one'), this.storage.entries()]));
  }
  start(role) {
    return role === 'master' ? this.publish('started') : undefined;
  }
  compile(scope) {
    if (scope.conf.keep === undefined) return undefined;
    return {
      content: (request) => {
        const item = request.variable('arg_item');
        if (item !== undefined && item !== '') this.channel.tell(item);
        let own = 'none';
        try { own = this.storage.get('one'); } catch (error) { own = error.message; }
        return request.send(200, (scope.conf.keep === 'worker' ? own : this.channel.value) ?? '');
      },
    };
  }`,
});

const CONF = `load_module modules/keeping.js; worker_processes 1; error_log logs/error.log notice; events {}
  http { server { listen 127.0.0.1:%%PORT_web%%; location / { keep it; } location /worker { keep worker; } } }`;

const shows = (port: number, text: string): Promise<unknown> => waitFor(text, async () => (await get(port, '/')).body === text);

test('what a module keeps outlives the server, all of a write or nothing', async (t) => {
  const srv = await startSrv(t, CONF, { files: { 'modules/keeping.js': KEEPING } });
  const port = srv.port('web');
  await shows(port, 'started [null,[]]');
  await get(port, '/?item=one');
  await shows(port, 'kept ["a one",[["one","a one"]]]');
  await get(port, '/?item=long');
  await shows(port, 'RangeError: the value of "long" may have 1048576 bytes, not 1048577 ["a one",[["one","a one"]]]');
  t.is((await get(port, '/worker')).body, 'Storage.get: this service does not exist in a worker');
  t.is(statSync(join(srv.prefix, 'data/srv.db')).mode & 0o777, 0o600);
  await srv.stop('SIGQUIT');

  const next = await startSrv(t, CONF, { prefix: srv.prefix });
  await shows(next.port('web'), 'started ["a one",[["one","a one"]]]');
  await get(next.port('web'), '/?item=gone');
  await shows(next.port('web'), 'kept [null,[["two","2"]]]');
});
