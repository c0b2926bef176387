/** File name patterns as `glob(3)` has them: `*`, `?` and `[a-z]` within one part of a path, hidden files only by a literal dot. */
import { readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';

const MAGIC = /[*?[]/;

export function isPattern(path: string): boolean {
  return MAGIC.test(path);
}

/**
 * Existing paths that match, sorted by character codes. Folders that cannot be read match nothing, as in nginx.
 * @param folder where a relative pattern starts; taken literally
 */
export function expandPattern(pattern: string, folder: string): readonly string[] {
  let paths: readonly string[] = [pattern.startsWith('/') ? '/' : folder];
  for (const part of pattern.split('/').filter((part) => part !== '')) {
    paths = paths.flatMap((folder) => (isPattern(part) ? matching(folder, part) : existing(join(folder, unescape(part)))));
  }
  return paths.toSorted();
}

function matching(folder: string, part: string): readonly string[] {
  const expression = partExpression(part);
  return entriesOf(folder)
    .filter((name) => expression.test(name) && (part.startsWith('.') || !name.startsWith('.')))
    .map((name) => join(folder, name));
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function existing(path: string): readonly string[] {
  return existsSync(path) ? [path] : [];
}

function unescape(part: string): string {
  return part.replaceAll(/\\(.)/gs, '$1');
}

const MATCHES_NOTHING = /(?!)/;
const TOKEN = /\\(?<escaped>.)|(?<any>\*)|(?<one>\?)|\[(?<not>[!^]?)(?<set>\]?[^\]]*)\]|(?<plain>.)/gsu;

function partExpression(part: string): RegExp {
  let source = '';
  for (const { groups = {} } of part.matchAll(TOKEN)) {
    const { escaped, any, one, not, set, plain } = groups;
    if (any !== undefined) source += '.*';
    else if (one !== undefined) source += '.';
    else if (set !== undefined) source += `[${not === '' ? '' : '^'}${set.replaceAll(/[\\\]^[]/g, String.raw`\$&`)}]`;
    else source += literal(escaped ?? plain ?? '');
  }
  try {
    return new RegExp(`^${source}$`, 'su');
  } catch {
    // A range that runs backwards.
    return MATCHES_NOTHING;
  }
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
}
