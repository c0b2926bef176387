/**
 * Puts the compiled program into few files: `dist/bundle/` has the same entries under the same paths as `dist/`, and starts in half the
 * time, because a thread loads 1 file instead of 250. core/cli/srv.ts chooses between the two. Run by `npm run build`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { rolldown, type Plugin } from 'rolldown';
import { findInstallation } from '../core/kernel/installation.js';
import { makeScript } from './bundled-script.js';
import { buildDashboard } from './dashboard.js';
import { STANDARD_MODULES } from '../core/kernel/standard-modules.js';

/** Output of the compiler: the folder above this file. */
const DIST = resolve(import.meta.dirname, '..');
const BUNDLE = join(DIST, 'bundle');
const WORKER = 'core/worker/main.js';
/** Files that the worker's entry loads. */
const WORKER_CODE = 'core/worker/serve.js';
const STANDARD_EXPORTS = 'core/kernel/standard-exports';
const THREADS = [WORKER, 'core/kernel/loop-guard-thread.js', 'modules/auth_basic/hash-thread.js', 'modules/telemetry/export-thread.js'];
/** Path of each module by its name. */
const MODULES = new Map(Array.from(findInstallation().modules, ([name, file]) => [name, relative(DIST, file)]));
/** The broker's process, `srvctl`, small processes of root's, and the loader of scripts: they share nothing with the others, whose files are large. */
const APART = [
  'core/helper/broker-main',
  'modules/broker/srv_helper_broker_module',
  'core/ctl/program',
  'core/parent/main',
  'core/cli/parent-start',
  'core/kernel/code-cache',
];
/** Chunks whose compiled code is kept. */
const SCRIPTS = ['worker'];
const HELPERS = ['broker', 'ctrl'];
/** Kinds of threads that run scripts. */
const KINDS = ['main', 'worker', 'helper-ctrl'];
/** Modules of Node.js that most threads never use, or late. */
const LAZY = new Set(['node:child_process', 'node:crypto', 'node:dns/promises', 'node:fs/promises', 'node:v8', 'node:zlib']);
/** As rolldown writes it, before the code is minified. */
const BUILTIN_IMPORT = /^import (.+) from "(node:[\w/]+)";$/gm;
/** How long the server that fills the compile cache may take to start. */
const WARM_UP_MS = 20_000;

function shipped(name: string): string {
  const file = MODULES.get(name);
  if (file === undefined) throw new Error(`there is no module "${name}"`);
  return file;
}

function javascriptIn(folder: string): readonly string[] {
  return readdirSync(join(DIST, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => `${folder}/${file}`);
}

/** Files loaded by their paths: the processes and threads, the contract that plugins import, and the modules. */
function entries(): readonly string[] {
  return [
    'core/cli/main.js',
    'core/helper/main.js',
    ...THREADS,
    ...javascriptIn('core/contract'),
    ...javascriptIn('core/toolkit'),
    ...MODULES.values(),
  ].filter((file) => !APART.includes(file.slice(0, -'.js'.length)));
}

/** An entry with what all standard modules export: core/kernel/module-file.ts. */
const standardExports: Plugin = {
  name: 'standard-exports',
  resolveId: (id) => (id === STANDARD_EXPORTS ? id : null),
  load: (id) =>
    id === STANDARD_EXPORTS ? STANDARD_MODULES.map((name) => `export * as ${name} from '${join(DIST, shipped(name))}';`).join('\n') : null,
};

/** Makes stack traces lead to the TypeScript sources. */
const sourceMaps: Plugin = {
  name: 'source-maps',
  load(id) {
    const map = `${id}.map`;
    if (!id.startsWith(DIST) || !existsSync(map)) return null;
    return { code: readFileSync(id, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, ''), map: readFileSync(map, 'utf8') };
  },
};

/**
 * Gets modules of Node.js from the process instead of importing them: an import evaluates everything that such a module exports, also parts that
 * Node.js loads at their first use.
 */
const builtins: Plugin = {
  name: 'builtins',
  renderChunk: {
    // Imports are above all other code by then, each in a line of its own: the lines of the source map stay.
    order: 'post',
    handler: (code) => ({ code: code.replace(BUILTIN_IMPORT, builtinConstant), map: null }),
  },
};

function builtinConstant(_: string, imported: string, name: string): string {
  const module = `process.getBuiltinModule("${name}")`;
  const [, all] = /^\* as (\S+)$/.exec(imported) ?? [];
  if (all !== undefined) return `const ${all} = ${module};`;
  if (LAZY.has(name)) return lazyFunctions(imported, name);
  const [, main, named = ''] = /^([\w$]+)?(?:, )?(?:\{(.*)\})?$/.exec(imported) ?? [];
  const constants = [
    ...(main === undefined ? [] : [`${main} = ${module}`]),
    ...(named === '' ? [] : [`{${named.replaceAll(' as ', ': ')}} = ${module}`]),
  ];
  return `const ${constants.join(', ')};`;
}

/** Functions that load their module when they are called. @param imported `{ lookup, open as open$1 }` */
function lazyFunctions(imported: string, name: string): string {
  const [, names] = /^\{ (.*) \}$/.exec(imported) ?? [];
  if (names === undefined) throw new Error(`${name} has to be imported by the names of its functions`);
  const exported = process.getBuiltinModule(name) as unknown as Readonly<Record<string, unknown>>;
  const module = `of_${name.replaceAll(/\W/g, '_')}`;
  const functions = names.split(', ').map((pair) => {
    const [of = '', own = of] = pair.split(' as ');
    if (typeof exported[of] !== 'function' || /^[A-Z]/.test(of))
      throw new Error(`${of} of ${name} is not a function: import it from elsewhere`);
    return `${own} = (...args) => (${module} ??= process.getBuiltinModule("${name}")).${of}(...args)`;
  });
  return `let ${module}; const ${functions.join(', ')};`;
}

/** Collects the files that a worker thread runs: what its entry and the standard modules import, directly or not. */
function workerFiles(): { readonly plugin: Plugin; readonly has: (id: string) => boolean } {
  const files = new Set<string>();
  const worker = join(DIST, WORKER_CODE);
  const plugin: Plugin = {
    name: 'worker-files',
    buildEnd() {
      const collect = (id: string): void => {
        if (files.has(id)) return;
        files.add(id);
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) collect(imported);
      };
      for (const id of [worker, ...STANDARD_MODULES.map((name) => join(DIST, shipped(name)))]) collect(id);
      // This one starts a worker: loading it with the rest would do so in every thread.
      files.delete(worker);
    },
  };
  return { plugin, has: (id) => files.has(id) };
}

const OUTPUT = {
  format: 'esm',
  entryFileNames: '[name].js',
  // As deep as the files that are in them: paths relative to a file stay right.
  chunkFileNames: 'core/chunks/[name].js',
  sourcemap: true,
  // Names of classes are in messages, names of functions in stack traces.
  keepNames: true,
  // V8 keeps the text as long as the thread lives: short local names and one byte a character are two megabytes less for each worker.
  minify: { compress: false, mangle: true, codegen: { removeWhitespace: true, asciiOnly: true } },
} as const;

async function write(folder: string): Promise<void> {
  const worker = workerFiles();
  const build = await rolldown({
    input: {
      ...Object.fromEntries(entries().map((file) => [file.slice(0, -'.js'.length), join(DIST, file)])),
      [STANDARD_EXPORTS]: STANDARD_EXPORTS,
    },
    platform: 'node',
    preserveEntrySignatures: 'strict',
    treeshake: false,
    plugins: [standardExports, sourceMaps, worker.plugin, builtins],
  });
  await build.write({
    ...OUTPUT,
    dir: folder,
    codeSplitting: {
      groups: [
        { name: 'worker', test: worker.has, priority: 1 },
        { name: 'typebox', test: /node_modules\/typebox\// },
      ],
    },
  });
  await build.close();
  const apart = await rolldown({
    input: Object.fromEntries(APART.map((entry) => [entry, join(DIST, `${entry}.js`)])),
    platform: 'node',
    plugins: [sourceMaps, builtins],
  });
  await apart.write({ ...OUTPUT, chunkFileNames: 'core/chunks/apart-[name].js', dir: folder });
  await apart.close();
  for (const chunk of SCRIPTS) makeScript(folder, `core/chunks/${chunk}.js`);
}

/** True if each kind of thread has kept its code: core/kernel/code-cache.ts. */
function isCodeKept(): boolean {
  const cache = join(BUNDLE, 'cache');
  const folders = existsSync(cache) ? readdirSync(cache).filter((name) => name.startsWith('srv-')) : [];
  return KINDS.every((kind) => folders.some((folder) => existsSync(join(cache, folder, kind))));
}

/** Runs a server for a moment: what its threads compile is kept beside the bundle. */
async function fillCompileCache(): Promise<void> {
  const prefix = mkdtempSync(join(tmpdir(), 'srv-bundle-'));
  try {
    mkdirSync(join(prefix, 'conf'));
    const socket = join(prefix, 'socket');
    const server = `server { listen unix:${socket}; location / { proxy_pass http://unix:${socket}:/; } }`;
    const api = `server { listen unix:${join(prefix, 'api')}; location /api { dyn_module_api; } }`;
    const helpers = HELPERS.map((kind) => `helper ${kind} modules/srv_helper_${kind}_module.so conf/${kind}.conf;`).join(' ');
    const configurations = {
      'srv.conf': `daemon off; worker_processes 1; ${helpers} events {} http { ${server} }`,
      'broker.conf': '',
      'ctrl.conf': `load_module modules/srv_http_upstream_api_module.so; events {} http { ${api} }`,
    };
    for (const [file, text] of Object.entries(configurations)) writeFileSync(join(prefix, 'conf', file), text);
    const child = spawn(process.execPath, [join(DIST, 'core/cli/srv.js'), '-p', prefix], {
      stdio: ['ignore', 'inherit', 'inherit'],
      // Another cache, of a runner of tests, would stay the only one that is filled.
      env: { ...process.env, NODE_COMPILE_CACHE: undefined },
    });
    const ended = once(child, 'exit');
    const limit = Date.now() + WARM_UP_MS;
    while (!isCodeKept() && child.exitCode === null && Date.now() < limit) await delay(20);
    child.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`a server run from the bundle ended with ${code ?? 'a signal'}`);
  } finally {
    rmSync(prefix, { recursive: true, force: true });
  }
}

const unfinished = `${BUNDLE}.${process.pid}`;
await write(unfinished);
await buildDashboard(`${unfinished}/dashboard`);
rmSync(BUNDLE, { recursive: true, force: true });
renameSync(unfinished, BUNDLE);
await fillCompileCache();
