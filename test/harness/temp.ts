import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Scope } from './scope.js';

/** A new folder that goes away with the test. `files` are written into it: relative path to content. */
export function tempFolder(t: Scope, files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'srv-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) writeInto(folder, path, content);
  return folder;
}

/** Writes one file below `folder` and makes the folders it needs. Returns its path. */
export function writeInto(folder: string, path: string, content: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}
