/** A run of the command-line client of the API. */
import { findInstallation } from '../kernel/installation.js';
import { wantsColor } from './diff.js';
import { run } from './main.js';
import { processTerminal } from './top/process-terminal.js';

// A reader that has seen enough (`srvctl events | head -1`) ends the run.
process.stdout.on('error', () => process.exit(0));

const terminal = processTerminal();
process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  version: findInstallation().version,
  color: wantsColor(process.stdout.isTTY, process.env),
  ...(terminal && { terminal }),
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
});
