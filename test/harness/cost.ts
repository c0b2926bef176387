/**
 * Loaded into the process of every test file (`require` of ava): writes the processor time of the file, with that of the processes that it
 * started and has seen end, to a folder that `SRV_TEST_COSTS` names. `tools/test.sh` prints the most expensive files.
 */
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/** Clock ticks a second in /proc: Linux has always 100. */
const TICKS = 100;
const folder = process.env['SRV_TEST_COSTS'];

/** @returns [of this process, of its children], in seconds */
function processorTime(): readonly [number, number] {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  // The fields from the third on: the name before them may have spaces.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, usersOfChildren = 0, systemOfChildren = 0] = fields.slice(11, 15);
  return [(user + system) / TICKS, (usersOfChildren + systemOfChildren) / TICKS];
}

if (folder !== undefined && process.platform === 'linux') {
  let processes = 0;
  // Tests may leave the folder, and remove it.
  const started = process.cwd();
  subscribe('child_process', () => (processes += 1));
  process.once('exit', () => {
    const [own, children] = processorTime();
    const name = relative(started, fileURLToPath(test.meta.file));
    writeFileSync(join(folder, String(process.pid)), `${(own + children).toFixed(2)} ${own.toFixed(2)} ${processes} ${name}\n`);
  });
}
