/** Memory of modules is released when their configuration is rejected. */
import test, { type ExecutionContext } from 'ava';
import { ModuleStorages } from '../../core/changes/module-storage.js';
import { ConfigError } from '../../core/config/errors.js';
import { parseText } from '../../core/config/parser.js';
import { IdSource } from '../../core/config/tree.js';
import { ChannelHub, MasterChannels, WorkerChannels } from '../../core/kernel/channel-hub.js';
import { checkParsed } from '../../core/kernel/check-configuration.js';
import { findInstallation } from '../../core/kernel/installation.js';
import { Instance, type PreparedChange } from '../../core/kernel/instance.js';
import { ModuleZones } from '../../core/kernel/module-zones.js';
import { ErrorLog } from '../../core/log/error-log.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { LogFiles } from '../../core/contract/log-files.js';
import type { Storage } from '../../core/contract/storage.js';
import { FakeStorage } from '../../testing/storage.js';
import { ZoneSet, type ZoneShare } from '../../core/zone/zone-set.js';
import { plugin } from '../harness/plugins.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const LOAD = 'load_module modules/keeper.js; events {}';

interface Thread {
  readonly zones: ZoneSet;
  readonly instance: Instance;
  /** Error of a follower. */
  error: ConfigError | undefined;
}

/** Modules have stored nothing. */
class EmptyStorages extends ModuleStorages {
  constructor() {
    super(() => undefined);
  }

  override of(): Storage {
    return new FakeStorage();
  }
}

/** The main thread, or a worker, of a server without engines. */
function thread(t: ExecutionContext, prefix: string, worker = -1): Thread {
  const files = new AppendedLogFiles();
  const log = new ErrorLog(files, '1#0', [{ path: `${prefix}/log`, level: 'debug' }]);
  const zones = new ZoneSet(worker < 0 ? 'create' : 'adopt');
  const installation = findInstallation();
  const role = worker < 0 ? 'master' : 'worker';
  const instance = new Instance({ role, worker, installation, prefix, confFolder: prefix, log, validates: true });
  const moduleZones = new ModuleZones({ zones, clock: { now: 0 }, worker, workers: 1 });
  instance.services.provide(LogFiles, files);
  instance.services.provide(ModuleZones, moduleZones);
  instance.services.provide(ChannelHub, worker < 0 ? new MasterChannels(() => Promise.resolve()) : new WorkerChannels(() => undefined));
  instance.services.provide(ModuleStorages, new EmptyStorages());
  const made: Thread = { zones, instance, error: undefined };
  instance.follow(moduleZones);
  instance.follow({
    prepare: () => {
      if (made.error !== undefined) throw made.error;
      return { commit: () => undefined, abort: () => undefined };
    },
  });
  t.teardown(async () => {
    await instance.stop();
    files.close();
  });
  return made;
}

/** A module with memory of its own. @param how more: what else its constructor does */
function keeper(prefix: string, size: number, { name = 'keeper', more = '', body = '' } = {}): void {
  const constructed = `static services = [Zones]; constructor(zones) { zones.own('memory', ${size}); ${more} }`;
  writeInto(
    prefix,
    `modules/${name}.js`,
    plugin(name, { imports: `import { Zones } from 'srv/module/zones.js';`, body: constructed + body }),
  );
}

const ids = new IdSource();

/** As a reload does it, up to its commit. */
async function prepare({ instance }: Thread, text: string): Promise<PreparedChange> {
  const parsed = parseText(text, { ids, file: 'test' });
  await checkParsed(parsed, instance);
  return instance.prepare([{ op: 'root', block: parsed.directives }], { rereads: true, isChecked: true });
}

const sizes = ({ zones }: Thread): readonly number[] => Array.from(zones.zones(), ({ size }) => size);

/** A server that runs a module with 8192 bytes. */
async function running(t: ExecutionContext): Promise<{ readonly master: Thread; readonly prefix: string }> {
  const prefix = tempFolder(t);
  const master = thread(t, prefix);
  keeper(prefix, 8192);
  (await prepare(master, LOAD)).commit();
  await master.instance.start();
  t.deepEqual(sizes(master), [8192]);
  return { master, prefix };
}

const REJECTED: readonly (readonly [what: string, text: string, how: Parameters<typeof keeper>[2], follower?: string])[] = [
  ['by its text', `${LOAD} unknown on;`, {}],
  ['by the constructor of its module', LOAD, { more: `throw new Error('no');` }],
  ['by the start of its module', LOAD, { body: `start() { throw new Error('no'); }` }],
  ['by a part of the server', LOAD, {}, 'no'],
];

for (const [what, text, how, follower] of REJECTED) {
  test(`a reload that is rejected ${what} leaves the memory as it was`, async (t) => {
    const { master, prefix } = await running(t);
    for (const size of [16384, 32768]) {
      keeper(prefix, size, how);
      master.error = follower === undefined ? undefined : new ConfigError(follower, undefined);
      await t.throwsAsync(prepare(master, text), { instanceOf: Error });
      await waitFor('the release', () => sizes(master).join() === '8192');
    }
    master.error = undefined;
    keeper(prefix, 65536);
    (await prepare(master, LOAD)).commit();
    await waitFor('the new memory alone', () => sizes(master).join() === '65536');
  });
}

test('modules that did not start because another one failed are released', async (t) => {
  const { master, prefix } = await running(t);
  keeper(prefix, 16384, { name: 'failing', body: `start() { throw new Error('no'); }` });
  keeper(prefix, 32768, { name: 'next' });
  const both = 'load_module modules/failing.js; load_module modules/next.js;';
  await t.throwsAsync(prepare(master, both + LOAD), { instanceOf: Error });
  await waitFor('the release', () => sizes(master).join() === '8192');
});

test('a change that is taken back leaves the memory as it was', async (t) => {
  const { master, prefix } = await running(t);
  keeper(prefix, 16384);
  (await prepare(master, LOAD)).abort();
  await waitFor('the release', () => sizes(master).join() === '8192');
});

test('a worker that has not used the memory of a module does not retain it', async (t) => {
  const { master, prefix } = await running(t);
  const worker = thread(t, prefix, 0);
  const shares: readonly ZoneShare[] = master.zones.shares();
  worker.zones.adopt(shares);
  (await prepare(worker, LOAD)).commit();
  await worker.instance.start();
  t.deepEqual(sizes(worker), [8192]);
  (await prepare(worker, 'events {}')).commit();
  await waitFor('the release', () => sizes(worker).length === 0);
});
