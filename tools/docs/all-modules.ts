/** Every module that comes with the program, as the reference shows it. */
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findInstallation } from '../../core/kernel/installation.js';
import { importModule, moduleOf, shippedModule, type LoadedModule } from '../../core/kernel/module-file.js';
import { BUILT_IN_MODULES, STANDARD_MODULES } from '../../core/kernel/standard-modules.js';

/** How a module gets into a server: it is a part of the core, it is loaded by default, or a line loads it. */
export type Loading = 'core' | 'default' | 'load_module' | 'helper';

export interface DocumentedModule extends LoadedModule {
  readonly loading: Loading;
  /** Comment above its class. */
  readonly doc: string;
}

const installation = findInstallation();

/** In the order they are loaded, those of `load_module` and `helper` lines after them by name. */
export async function allModules(): Promise<readonly DocumentedModule[]> {
  const core = BUILT_IN_MODULES.map((module) => builtIn(moduleOf(import.meta.filename, { module }, 'data')));
  const others = [...installation.modules.keys()].filter((name) => !STANDARD_MODULES.includes(name));
  const shipped = await Promise.all([...STANDARD_MODULES, ...others].map(documented));
  return [...core, ...shipped];
}

const CORE_DOCS: Readonly<Record<string, string>> = {
  srv_core_module: 'Processes, modules, logs and the `events` block.',
  srv_stream_core_module: 'Streams and their servers (ngx_stream_core_module).',
  srv_stream_error_log_module: 'The error log of streams.',
  srv_http_core_module: 'HTTP servers, locations, requests and responses (ngx_http_core_module).',
};

function builtIn(module: LoadedModule): DocumentedModule {
  return { ...module, loading: 'core', doc: CORE_DOCS[module.name] ?? '' };
}

async function documented(name: string): Promise<DocumentedModule> {
  const module = await importModule({ file: shippedModule(installation, name), version: 0 }, installation, 'data');
  return { ...module, loading: loadingOf(module), doc: docAbove(sourceOf(module.file)) };
}

function loadingOf({ name, declaration }: LoadedModule): Loading {
  if (STANDARD_MODULES.includes(name)) return 'default';
  return declaration.kind === 'helper' ? 'helper' : 'load_module';
}

/** The file that the compiler has made `file` of. */
function sourceOf(file: string): string {
  return join(installation.root, relative(installation.program, file).replace(/\.js$/, '.ts'));
}

/** The comment above the decorated class of a source file, as one line. */
function docAbove(source: string): string {
  const text = existsSync(source) ? readFileSync(source, 'utf8') : '';
  const [, comment = ''] = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*@\w+Module\(/.exec(text) ?? [];
  return comment
    .replaceAll(/^\s*\*?\s*|\s+$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
