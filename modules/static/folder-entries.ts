import type { Dirent } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { assertWithinRoot } from './file-access.js';
import { bytesOf } from './file-errors.js';

/** Files whose figures are asked for at once. */
const AT_ONCE = 64;

/** Something in a folder. Names are strings of bytes. */
export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** The same with its figures. */
export interface FolderFile extends FolderEntry {
  readonly isFile: boolean;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
}

/** Entries of a folder that are not hidden: folders first, by the bytes of their names. @throws Error of the system */
export async function readFolder(folder: string): Promise<readonly FolderEntry[]> {
  const entries: FolderEntry[] = [];
  for (const entry of await visible(folder)) entries.push({ name: entry.name, isFolder: await isFolder(folder, entry) });
  return entries.sort((one, other) => Number(other.isFolder) - Number(one.isFolder) || (one.name < other.name ? -1 : 1));
}

/** The names of the files in a folder. @throws Error of the system */
export async function readFileNames(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const entry of await visible(folder))
    if (entry.isFile() || (await fileOf(folder, entry.name))?.isFile === true) names.push(entry.name);
  return names;
}

/** Each entry with its figures; what is gone meanwhile is left out. */
export async function* figuresOf(folder: string, entries: readonly FolderEntry[]): AsyncGenerator<readonly FolderFile[]> {
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    const files = await Promise.all(entries.slice(from, from + AT_ONCE).map(({ name }) => fileOf(folder, name)));
    yield files.filter((file) => file !== undefined);
  }
}

async function visible(folder: string): Promise<Dirent[]> {
  assertWithinRoot(folder);
  const entries = await readdir(bytesOf(folder), { withFileTypes: true, encoding: 'latin1' });
  return entries.filter(({ name }) => !name.startsWith('.'));
}

async function isFolder(folder: string, entry: Dirent): Promise<boolean> {
  if (entry.isDirectory() || entry.isFile()) return entry.isDirectory();
  return (await fileOf(folder, entry.name))?.isFolder === true;
}

/** Of a link, what it leads to; of one that leads nowhere, the link. Undefined: it is gone, or forbidden. */
async function fileOf(folder: string, name: string): Promise<FolderFile | undefined> {
  const path = bytesOf(folder + name);
  const stats = await stat(path).catch(() => lstat(path).catch(() => undefined));
  if (stats === undefined) return undefined;
  const isFile = stats.isFile() || stats.isSymbolicLink();
  return { name, isFolder: stats.isDirectory(), isFile, size: stats.size, modified: stats.mtimeMs };
}
