/** Prints the compiled test files that start no process, neither themselves nor through what they import: `npm run test:quick` runs them. */
import { importsOf, sourceFiles, type SourceFile } from '../docs/source-files.js';

const files = new Map(sourceFiles('test', 'testing').map((file) => [file.path, file]));
/** Files of which it is known, so that circles end. */
const known = new Map<string, boolean>();

function startsProcesses(file: SourceFile): boolean {
  const before = known.get(file.path);
  if (before !== undefined) return before;
  known.set(file.path, false);
  const starts = importsOf(file).some(({ target, typesOnly }) => {
    if (typesOnly) return false;
    if (target === 'node:child_process') return true;
    const imported = files.get(target);
    return imported !== undefined && startsProcesses(imported);
  });
  known.set(file.path, starts);
  return starts;
}

for (const file of files.values()) {
  if (!file.path.endsWith('.test.ts') || startsProcesses(file)) continue;
  process.stdout.write(`dist/${file.path.replace(/\.ts$/, '.js')}\n`);
}
