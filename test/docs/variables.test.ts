/** docs/variables.md lists the variables there are, of requests and of sessions, and no others. */
import test from 'ava';
import { allModules, type DocumentedModule } from '../../tools/docs/all-modules.js';
import type { Variables } from '../../core/config/variables.js';
import { defineCoreVariables } from '../../core/http/core-variables.js';
import { HttpVariables } from '../../core/http/site/variables.js';
import { isModuleService } from '../../core/kernel/module-services.js';
import { Services, wantedServices } from '../../core/kernel/services.js';
import type { HttpModule } from '../../core/contract/manifest.js';
import type { Getter, GetterFamily } from '../../core/contract/template.js';
import { defineStreamVariables } from '../../core/stream/core-variables.js';
import { StreamVariables } from '../../core/stream/site/variables.js';
import { Channels } from '../../core/contract/channels.js';
import { Metrics } from '../../core/contract/metrics.js';
import { Zones } from '../../core/contract/zones.js';
import { FakeChannels } from '../../testing/channels.js';
import { fakeMetrics } from '../../testing/metrics.js';
import { FakeZones } from '../../testing/zones.js';
import { readRoot } from './source-files.js';

const SESSIONS = '\n## Of a session, in `stream`\n';

/** Collects the names of those that are defined from now on, as they are written in the page: `$uri`, `$http_NAME`. */
function namesIn<R>(variables: Variables<R>): Set<string> {
  const names = new Set<string>();
  const define = variables.define.bind(variables);
  const definePrefix = variables.definePrefix.bind(variables);
  variables.define = (name, getter) => {
    names.add(`$${name}`);
    define(name, getter);
  };
  variables.definePrefix = (prefix, make) => {
    names.add(`$${prefix}NAME`);
    definePrefix(prefix, make);
  };
  return names;
}

function defineVariables<R>(variables: Variables<R>, { class: moduleClass, declaration }: DocumentedModule): void {
  const provided = new Map<unknown, object>(
    wantedServices(moduleClass)
      .filter(isModuleService)
      .map((token) => [token, {}]),
  );
  provided.set(Zones, new FakeZones());
  provided.set(Metrics, fakeMetrics());
  provided.set(Channels, new FakeChannels().master);
  const instance: HttpModule = new Services().construct(moduleClass, 'a test', provided);
  for (const [name, getter] of Object.entries({ ...declaration.manifest.variables, ...instance.variables }))
    variables.define(name, getter as Getter<R>);
  for (const [prefix, make] of Object.entries(instance.variablePrefixes ?? {})) variables.definePrefix(prefix, make as GetterFamily<R>);
}

/** The modules of the kernel have none, and take what no other module gets. */
async function modulesOf(kind: 'http' | 'stream'): Promise<readonly DocumentedModule[]> {
  return (await allModules()).filter(({ declaration, loading }) => declaration.kind === kind && loading !== 'core');
}

const rowsOf = (section = ''): string[] =>
  [...section.matchAll(/^\| `(?<name>\$\w+)`/gm)].map(({ groups }) => groups?.['name'] ?? '').toSorted();

const [ofRequests, ofSessions] = readRoot('docs/variables.md').split(SESSIONS);

test('every variable of requests has its row', async (t) => {
  const variables = new HttpVariables();
  const names = namesIn(variables);
  defineCoreVariables(variables, '1');
  for (const module of await modulesOf('http')) defineVariables(variables, module);
  t.deepEqual(rowsOf(ofRequests), [...names].toSorted());
});

test('every variable of sessions has its row', async (t) => {
  const variables = new StreamVariables();
  const names = namesIn(variables);
  defineStreamVariables(variables, '1');
  for (const module of await modulesOf('stream')) defineVariables(variables, module);
  t.deepEqual(rowsOf(ofSessions), [...names].toSorted());
});
