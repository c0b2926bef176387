/** Replaced code that requests still run: when it ends, and what is logged of it. */
import test, { type ExecutionContext } from 'ava';
import { FormerModules } from '../../core/kernel/former-modules.js';
import { ModuleCode } from '../../core/kernel/module-code.js';
import type { RunningModule } from '../../core/kernel/running-module.js';
import { Log, type LogLevel } from '../../core/contract/log.js';
import { waitFor } from '../harness/wait.js';

class Lines extends Log {
  readonly texts: string[] = [];
  enabled(): boolean {
    return true;
  }
  write(level: LogLevel, text: string): void {
    this.texts.push(`[${level}] ${text}`);
  }
}

/** A traffic engine whose requests end when the test says so. */
class Engine {
  readonly #steps: (() => void)[] = [];
  whenOver(step: () => void): void {
    this.#steps.push(step);
  }
  end(): void {
    for (const step of this.#steps.splice(0)) step();
  }
}

/** @param ms time until old code is reported */
function formerModules(ms: number): {
  readonly log: Lines;
  readonly engines: readonly [Engine, Engine];
  readonly stopped: string[];
  readonly retired: string[];
  readonly former: FormerModules;
  readonly module: (name: string) => RunningModule;
} {
  const [log, engines] = [new Lines(), [new Engine(), new Engine()] as const];
  const stopped: string[] = [];
  const retired: string[] = [];
  const former = new FormerModules(log, [...engines, {}], (modules) => stopped.push(...modules.map(({ name }) => name)), ms);
  const module = (name: string): RunningModule => ({ name, life: { retire: () => retired.push(name) } }) as unknown as RunningModule;
  return { log, engines, stopped, retired, former, module };
}

test('old code that requests still run is reported once, and stopped when the last of them is over', async (t) => {
  const { log, engines, stopped, retired, former, module } = formerModules(20);
  former.add([module('acme'), module('other')]);
  t.deepEqual(retired, ['acme', 'other']);
  await waitFor('the report', () => log.texts.length > 0);
  const text =
    /^\[warn\] requests that began before the reload of \S+Z still run the old code of "acme", "other": "worker_shutdown_timeout" limits their time$/;
  t.regex(log.texts.join('\n'), text);
  engines[0].end();
  t.deepEqual(stopped, [], 'requests of the other engine still use them');
  engines[1].end();
  t.deepEqual(stopped, ['acme', 'other']);
  t.is(log.texts.length, 1);
});

test('old code that ends in time is not reported', async (t) => {
  const { log, engines, stopped, former, module } = formerModules(20);
  former.add([module('acme')]);
  for (const engine of engines) engine.end();
  t.deepEqual(stopped, ['acme']);
  const later = formerModules(40);
  later.former.add([later.module('later')]);
  await waitFor('a report that is due later', () => later.log.texts.length > 0);
  t.deepEqual(log.texts, []);
});

test('old code of a server that ends is taken, and neither reported nor stopped again', async (t) => {
  const { log, engines, stopped, former, module } = formerModules(20);
  former.add([module('acme')]);
  t.deepEqual(
    former.take().map(({ name }) => name),
    ['acme'],
  );
  t.deepEqual(former.take(), []);
  for (const engine of engines) engine.end();
  const later = formerModules(40);
  later.former.add([later.module('later')]);
  await waitFor('a report that is due later', () => later.log.texts.length > 0);
  t.deepEqual([log.texts, stopped], [[], []]);
});

function loadVersions(t: ExecutionContext, code: ModuleCode, file: string, count: number): void {
  for (let version = 0; version < count; version++) code.loaded({ file, version });
  t.true(code.isLoaded({ file, version: count - 1 }));
}

test('from the 50th later version on, of all modules together, a warning says that memory is not released', (t) => {
  const code = new ModuleCode();
  loadVersions(t, code, '/srv/modules/a.js', 25);
  loadVersions(t, code, '/srv/modules/b.js', 26);
  t.is(code.warning, undefined, '24 and 25 later ones');
  code.loaded({ file: '/srv/modules/a.js', version: 24 });
  t.is(code.warning, undefined, 'an earlier version again does not count');
  code.loaded({ file: '/srv/modules/a.js', version: 30 });
  const text = '50 later versions of modules were loaded, whose memory is not released: "srv -s upgrade" or a restart releases it';
  t.is(code.warning, text);
});
