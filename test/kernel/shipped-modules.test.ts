/** No start checks the declarations of the modules that come with srv: this file does. */
import test, { type ExecutionContext } from 'ava';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { number } from '../../core/contract/args.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { coreModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { findInstallation } from '../../core/kernel/installation.js';
import { Instance } from '../../core/kernel/instance.js';
import { moduleOf, type LoadedModule } from '../../core/kernel/module-file.js';
import { ModuleSet } from '../../core/kernel/module-set.js';
import type { RunningModule } from '../../core/kernel/running-module.js';
import { RunningModules } from '../../core/kernel/running-modules.js';
import { STANDARD_MODULES } from '../../core/kernel/standard-modules.js';
import { ErrorLog } from '../../core/log/error-log.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { ChannelHub, MasterChannels } from '../../core/kernel/channel-hub.js';
import { FamilySources } from '../../core/kernel/module-families.js';
import { ModuleZones } from '../../core/kernel/module-zones.js';
import { ZoneMetrics } from '../../core/zone/metrics.js';
import { ZoneSet } from '../../core/zone/zone-set.js';
import { tempFolder } from '../harness/temp.js';

const installation = findInstallation();
const ALL = 'load_module modules/*/srv_*_module.so;';
type ServerPlane = 'data' | 'control';

/** Provides the services of the data plane that modules use in their constructors. */
function provideMemory({ services }: Instance): void {
  const place = { zones: new ZoneSet('create'), worker: -1, workers: 1 };
  services.provide(ModuleZones, new ModuleZones({ ...place, clock: { now: 0 } }));
  services.provide(ZoneMetrics, new ZoneMetrics({ ...place, onFull: () => undefined }));
  services.provide(ChannelHub, new MasterChannels(async () => undefined));
  services.provide(FamilySources, new FamilySources());
}

/** All modules of a plane, in its main thread. */
class Modules {
  private constructor(
    readonly plane: ServerPlane,
    readonly instance: Instance,
    readonly running: RunningModules,
  ) {}

  static async load(t: ExecutionContext, plane: ServerPlane): Promise<Modules> {
    const files = new AppendedLogFiles();
    t.teardown(() => files.close());
    const prefix = tempFolder(t);
    const log = new ErrorLog(files, '1#0', [{ path: `${prefix}/log`, level: 'debug' }]);
    const role = plane === 'data' ? 'master' : 'control';
    const instance = new Instance({ role, worker: -1, installation, prefix, confFolder: prefix, log, validates: true });
    instance.services.provide(LogFiles, files);
    if (plane === 'data') provideMemory(instance);
    const { directives } = parseText(ALL, { ids: new IdSource(), file: 'srv.conf' });
    const { modules, errors } = await instance.modulesFor(ConfigTree.fromData(directives));
    t.deepEqual(errors, []);
    return new Modules(plane, instance, modules);
  }

  /** Errors of the modules, and of another one, checked as modules of others are. */
  errorsWith(...others: readonly LoadedModule[]): readonly string[] {
    const set = new ModuleSet(this.plane, installation);
    for (const module of [...this.running.set, ...others]) set.add({ ...module, isShipped: false });
    const [first] = this.running;
    const found = (module: LoadedModule): RunningModule => this.running.named(module.name) ?? { ...first!, ...module };
    return new RunningModules(set, found, this.instance.options).errors.map(({ message }) => message);
  }
}

for (const plane of ['data', 'control'] as const) {
  test(`the modules of the ${plane} plane declare nothing that is rejected`, async (t) => {
    const modules = await Modules.load(t, plane);
    const names = new Set(Array.from(modules.running, ({ name }) => name));
    t.true(names.size > (plane === 'data' ? STANDARD_MODULES.length : 20));
    for (const { file, declaration, class: module } of modules.running.set)
      t.is(moduleOf(file, { module }, plane, false).declaration, declaration);
    t.deepEqual(modules.errorsWith(), []);
  });
}

test('a default that its directive rejects is found in the same way', async (t) => {
  @coreModule({
    name: 'wrong',
    api: 1,
    directives: { wrong: directive({ in: ['main'], args: number({ min: 1, max: 2 }), default: '3' }) },
  })
  class Wrong {}
  const modules = await Modules.load(t, 'data');
  const wrong = { ...moduleOf('wrong.js', { Wrong }, 'data', false), name: 'wrong' };
  t.regex(modules.errorsWith(wrong).join('\n'), /default "3" of directive "wrong" is rejected/);
});
