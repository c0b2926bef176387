import { statSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Another one after every change of the file. Undefined if there is none. */
export function fileMark(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.ino} ${found.size} ${found.mtimeMs}`;
}

const asideOf = (path: string): string => `${path}.new`;

/**
 * The file is the old one or the new one, whole, whenever it is read. It keeps its mode; a new one is for this user only.
 * @param mayReplace asked when the new one is ready
 * @returns the mark of what was written, which an edit of the next moment does not have; undefined if it was not replaced
 */
export async function replaceFile(path: string, text: string, mayReplace: () => boolean): Promise<string | undefined> {
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const aside = asideOf(path);
  const file = await open(aside, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  if (!mayReplace()) {
    await removeUnfinished(path);
    return undefined;
  }
  const mark = fileMark(aside);
  await rename(aside, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return mark;
}

/** Clears away what {@link replaceFile} left when it was killed in the middle. */
export async function removeUnfinished(path: string): Promise<void> {
  await rm(asideOf(path), { force: true });
}
