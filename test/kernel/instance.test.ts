import test, { type ExecutionContext } from 'ava';
import { ConfigError, ConfigErrors } from '../../core/config/errors.js';
import { parseText } from '../../core/config/parser.js';
import { IdSource, type DirectiveData } from '../../core/config/tree.js';
import type { Follower, Prepared } from '../../core/config/change.js';
import { findInstallation } from '../../core/kernel/installation.js';
import { Instance } from '../../core/kernel/instance.js';
import { ErrorLog } from '../../core/log/error-log.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { coreModule } from '../../core/contract/manifest.js';
import { KeyValue } from '../../core/contract/key-value.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ServerInfo } from '../../core/contract/server-info.js';

import { tempFolder } from '../harness/temp.js';

/** An instance without an engine. Services that modules of the standard list ask for are stand-ins. */
function newInstance(t: ExecutionContext, validates = true): Instance {
  const files = new AppendedLogFiles();
  const prefix = tempFolder(t);
  const log = new ErrorLog(files, '1#0', [{ path: `${prefix}/log`, level: 'debug' }]);
  t.teardown(() => files.close());
  const instance = new Instance({
    role: 'worker',
    worker: 3,
    installation: findInstallation(),
    prefix,
    confFolder: prefix,
    log,
    validates,
  });
  instance.services.provide(LogFiles, files);
  return instance;
}

const ids = new IdSource();
const directives = (text: string): readonly DirectiveData[] => parseText(text, { ids, file: 'test' }).directives;
const root = (text: string) => [{ op: 'root', block: directives(text) }] as const;

/** A follower that writes down what is done to it. */
function follower(name: string, steps: string[], fails?: Error): Follower {
  return {
    prepare(): Prepared {
      steps.push(`${name} prepare`);
      if (fails) throw fails;
      return { commit: () => steps.push(`${name} commit`), abort: () => steps.push(`${name} abort`) };
    },
    stop: () => void steps.push(`${name} stop`),
  };
}

test('a change is active after its commit and not before', async (t) => {
  const instance = newInstance(t);
  const prepared = await instance.prepare(root('worker_processes 7; events { worker_connections 9; }'));
  t.is(instance.tree.root.size, 0);
  prepared.commit();
  t.is(instance.settings.main.worker_processes, 7);
  t.is(instance.settings.events.worker_connections, 9);
});

test('settings that stand nowhere have their defaults', async (t) => {
  const instance = newInstance(t);
  (await instance.prepare(root('events {}'))).commit();
  const { main, events } = instance.settings;
  t.is(main.worker_processes, 1);
  t.is(main.daemon, true);
  t.true(main.pid.endsWith('/logs/srv.pid'));
  t.is(main.worker_shutdown_timeout, undefined);
  t.is(events.worker_connections, 512);
});

test('followers prepare and commit in their order', async (t) => {
  const steps: string[] = [];
  const instance = newInstance(t);
  instance.follow(follower('first', steps));
  instance.follow(follower('second', steps));
  (await instance.prepare(root('events {}'))).commit();
  t.deepEqual(steps, ['first prepare', 'second prepare', 'first commit', 'second commit']);
});

test('when one cannot, the others undo what they made ready, and nothing is active', async (t) => {
  const steps: string[] = [];
  const instance = newInstance(t);
  instance.follow(follower('first', steps));
  instance.follow(follower('second', steps, new ConfigError('no', undefined)));
  instance.follow(follower('third', steps));
  await t.throwsAsync(instance.prepare(root('events {}')), { instanceOf: ConfigErrors });
  t.deepEqual(steps, ['first prepare', 'second prepare', 'third prepare', 'third abort', 'first abort']);
  t.is(instance.tree.root.size, 0);
});

test('the errors of all followers are reported', async (t) => {
  const instance = newInstance(t);
  instance.follow(follower('a', [], new ConfigErrors([new ConfigError('one', undefined), new ConfigError('two', undefined)])));
  instance.follow(follower('b', [], new ConfigError('three', undefined)));
  const error = await t.throwsAsync<ConfigErrors>(instance.prepare(root('events {}')));
  t.deepEqual(
    error?.errors.map(({ message }) => message),
    ['one', 'two', 'three'],
  );
});

test('an error that is not an error of the configuration undoes everything too', async (t) => {
  const steps: string[] = [];
  const instance = newInstance(t);
  instance.follow(follower('first', steps));
  instance.follow(follower('second', steps, new Error('bug')));
  await t.throwsAsync(instance.prepare(root('events {}')), { message: 'bug' });
  t.deepEqual(steps, ['first prepare', 'second prepare', 'first abort']);
});

test('only what a change brings is checked', async (t) => {
  const instance = newInstance(t);
  (await instance.prepare(root('events { worker_connections 9; }'))).commit();
  const [events] = instance.tree.root;
  const [bad] = directives('worker_connections x;');
  const [unknown] = directives('foo;');
  for (const directive of [bad, unknown]) {
    await t.throwsAsync(instance.prepare([{ op: 'add', parent: events!.id, directive: directive! }]), { instanceOf: ConfigErrors });
  }
  const [again] = directives('worker_connections 10;');
  await t.throwsAsync(instance.prepare([{ op: 'add', parent: events!.id, directive: again! }]), { message: /is duplicate/ });
  const [fine] = directives('multi_accept on;');
  (await instance.prepare([{ op: 'add', parent: events!.id, directive: fine! }])).commit();
  t.is(instance.settings.events.multi_accept, true);
});

test('two servers in one thread share nothing', async (t) => {
  const [one, two] = [newInstance(t), newInstance(t)];
  (await one.prepare(root('node_name one; events {}'))).commit();
  (await two.prepare(root('node_name two; events {}'))).commit();
  t.is(one.services.get(ServerInfo).nodeName, 'one');
  t.is(two.services.get(ServerInfo).nodeName, 'two');
  const others = new Set<object>([...two.modules].map((module) => module.instance));
  t.true([...one.modules].every((module) => !others.has(module.instance)));
});

test('a service that does not exist here says so when it is used', async (t) => {
  class Wanting {
    static services = [KeyValue];
    constructor(readonly pairs: KeyValue) {}
  }
  coreModule({ name: 'wanting', api: 1 })(Wanting);
  const { services } = newInstance(t);
  const wanting = services.construct(Wanting, 'a worker') as Wanting;
  t.throws(() => wanting.pairs.get('x'), { message: 'KeyValue.get: this service does not exist in a worker' });
});

test('a service that comes later is asked for when it is used', (t) => {
  const { services } = newInstance(t);
  const late: { service?: KeyValue } = {};
  services.provideLater(KeyValue, () => late.service);
  const pairs = services.get(KeyValue);
  t.throws(() => pairs.get('x'), { message: 'KeyValue.get: this service is not ready yet' });
  late.service = { get: (key: string) => `value of ${key}` } as KeyValue;
  t.is(pairs.get('x'), 'value of x');
});

test('stopping goes through the followers from the last to the first', async (t) => {
  const steps: string[] = [];
  const instance = newInstance(t);
  instance.follow(follower('first', steps));
  instance.follow(follower('second', steps));
  await instance.stop();
  t.deepEqual(steps, ['second stop', 'first stop']);
});
