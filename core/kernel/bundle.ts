/** The same program in few files, which loads faster (tools/bundle.ts). */

/** Address of a file of the bundle. @param file from the folder of the bundle on */
export function bundle(file: string): URL {
  return new URL(`../../bundle/${file}`, import.meta.url);
}

/** True if there is a bundle that is not older than what it was made of. @param file one of the bundle */
export function isBundled(file: string): boolean {
  const made = modificationTime(bundle(file));
  const compiled = modificationTime(new URL('../../.tsbuildinfo', import.meta.url));
  return made !== undefined && (compiled === undefined || made >= compiled);
}

/** In milliseconds; undefined if there is no such file. */
function modificationTime(file: URL): number | undefined {
  return process.getBuiltinModule('node:fs').statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
