import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * As `mkdir -p`. Node.js's own recursive mkdir never returns where a folder exists but rejects to have another one in it (/proc).
 * @param made called for each created folder @throws Error of the system
 */
export function makeFolder(path: string, mode = 0o777, made: (path: string) => void = () => undefined): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), mode, made);
  mkdirSync(path, { mode });
  made(path);
}
