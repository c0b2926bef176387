import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const asideOf = (path: string): string => `${path}.new`;

/**
 * The file is the old one or the new one, whole, whenever it is read. It keeps its mode; a new one is for this user only.
 * @param mayReplace asked when the new one is ready
 * @returns whether it was replaced
 */
export async function replaceFile(path: string, text: string, mayReplace: () => boolean): Promise<boolean> {
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
    return false;
  }
  await rename(aside, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return true;
}

/** Clears away what {@link replaceFile} left when it was killed in the middle. */
export async function removeUnfinished(path: string): Promise<void> {
  await rm(asideOf(path), { force: true });
}
