/** docs/variables.md lists the variables there are, and no others. */
import test from 'ava';
import { allModules, type DocumentedModule } from '../../tools/docs/all-modules.js';
import { defineCoreVariables } from '../../core/http/core-variables.js';
import { HttpVariables } from '../../core/http/site/variables.js';
import { isModuleService } from '../../core/kernel/module-services.js';
import { Services, wantedServices } from '../../core/kernel/services.js';
import type { HttpModule } from '../../core/module/manifest.js';
import type { VariableGetter, VariablePrefix } from '../../core/module/http.js';
import { readRoot } from './source-files.js';

/** Remembers what is defined, as it is written in the page: `$uri`, `$http_NAME`. */
class DefinedNames extends HttpVariables {
  readonly names = new Set<string>();

  override define(name: string, getter: VariableGetter): void {
    this.names.add(`$${name}`);
    super.define(name, getter);
  }

  override definePrefix(prefix: string, make: VariablePrefix): void {
    this.names.add(`$${prefix}NAME`);
    super.definePrefix(prefix, make);
  }
}

function defineVariables(variables: HttpVariables, { class: moduleClass, declaration }: DocumentedModule): void {
  const provided = new Map(
    wantedServices(moduleClass)
      .filter(isModuleService)
      .map((token) => [token, {}]),
  );
  const instance: HttpModule = new Services().construct(moduleClass, 'a test', provided);
  for (const [name, getter] of Object.entries({ ...declaration.manifest.variables, ...instance.variables }))
    variables.define(name, getter as VariableGetter);
  for (const [prefix, make] of Object.entries(instance.variablePrefixes ?? {})) variables.definePrefix(prefix, make);
}

/** The module of the kernel has none, and takes what no other module gets. */
function hasVariables({ declaration: { kind, manifest } }: DocumentedModule): boolean {
  return kind === 'http' && manifest.name !== 'srv_core_module';
}

test('every variable has its row', async (t) => {
  const defined = new DefinedNames();
  defineCoreVariables(defined, '1');
  for (const module of await allModules()) if (hasVariables(module)) defineVariables(defined, module);

  const rows = [...readRoot('docs/variables.md').matchAll(/^\| `(?<name>\$\w+)`/gm)].map(({ groups }) => groups?.['name'] ?? '');
  t.deepEqual(rows.toSorted(), [...defined.names].toSorted());
});
