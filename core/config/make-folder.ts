import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * As `mkdir -p`. Node.js's own recursive mkdir never returns where a folder exists but refuses to have another one in it (/proc).
 * @param made is told of each folder that was not there
 * @throws Error of the system
 */
export function makeFolder(path: string, mode = 0o777, made: (path: string) => void = () => undefined): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), mode, made);
  mkdirSync(path, { mode });
  made(path);
}
