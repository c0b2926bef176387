#!/usr/bin/env node
/**
 * The command. This file loads nothing but what every version of Node that knows modules can load, so that one which is too old gets a
 * clear error instead of a syntax error somewhere inside.
 */
import { bundle, isBundled } from '../kernel/bundle.js';
import { limitBacktracking } from '../kernel/linear-patterns.js';

const OLDEST_NODE = 24;
/** Variables of a process that is given sockets (core/parent/activation.ts), or that a parent has started (core/parent/marks.ts). */
const MARKS = ['LISTEN_FDS', 'SRV_ACTIVATION', 'SRV_PREPARE'];

const [major = '0'] = process.versions.node.split('.');
if (Number(major) < OLDEST_NODE) {
  process.stderr.write(
    `srv: [emerg] Node.js ${OLDEST_NODE} or later is needed, this is ${process.versions.node} (${process.execPath})\n` +
      'srv: "npm start" in the installation uses the Node.js that "npm install" brings along\n',
  );
  process.exitCode = 1;
} else {
  // An import evaluates all exports of a module, lazy ones too.
  const { enableCompileCache, setSourceMapsSupport } = process.getBuiltinModule('node:module');
  const { fileURLToPath } = process.getBuiltinModule('node:url');
  // Stack traces name lines of the sources. A map is read when a stack is printed, not before.
  setSourceMapsSupport(true, { nodeModules: true, generatedCode: true });
  limitBacktracking();
  const bundled = isBundled('core/cli/main.js');
  if (bundled) {
    // Threads and helper processes inherit it: they share what is compiled already.
    process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(bundle('cache'));
    enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  }
  const mayHaveParent = process.getuid?.() === 0 || MARKS.some((mark) => process.env[mark] !== undefined);
  const isStarted = mayHaveParent && (await startsWithParent(bundled));
  if (!isStarted) await runCommand(bundled);
}

/**
 * A small process above the server: of root, if it runs as another user, and to hold the sockets that systemd has opened. True: this is that
 * process, or has started it.
 */
async function startsWithParent(bundled: boolean): Promise<boolean> {
  const file = bundled ? bundle('core/cli/parent-start.js').href : './parent-start.js';
  const { startWithParent } = (await import(file)) as typeof import('./parent-start.js');
  return startWithParent(process.argv.slice(2));
}

async function runCommand(bundled: boolean): Promise<void> {
  const { default: main } = (await import(bundled ? bundle('core/cli/main.js').href : './main.js')) as typeof import('./main.js');
  await main(process.argv.slice(2));
}
