/** File name patterns as `glob(3)` has them: `*`, `?` and `[a-z]` within one part of a path, hidden files only by a literal dot. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Takes the error of the system. */
type OnForbidden = (folder: string, error: unknown) => void;

const MAGIC = /[*?[]/;

export function isPattern(path: string): boolean {
  return MAGIC.test(path);
}

/**
 * Existing paths that match, sorted by character codes.
 * @param folder where a relative pattern starts; taken literally
 * @param onForbidden is called with each folder that this process may not read: it matches nothing, as in nginx
 */
export function expandPattern(pattern: string, folder: string, onForbidden: OnForbidden = () => undefined): readonly string[] {
  let paths: readonly string[] = [pattern.startsWith('/') ? '/' : folder];
  for (const part of pattern.split('/').filter((part) => part !== '')) {
    paths = paths.flatMap((folder) =>
      isPattern(part) ? matching(folder, part, onForbidden) : existing(folder, unescape(part), onForbidden),
    );
  }
  return paths.toSorted();
}

function matching(folder: string, part: string, onForbidden: OnForbidden): readonly string[] {
  const expression = partExpression(part);
  return entriesOf(folder, onForbidden)
    .filter((name) => expression.test(name) && (part.startsWith('.') || !name.startsWith('.')))
    .map((name) => join(folder, name));
}

function entriesOf(folder: string, onForbidden: OnForbidden): readonly string[] {
  return lookedInto(folder, onForbidden, () => readdirSync(folder));
}

function existing(folder: string, name: string, onForbidden: OnForbidden): readonly string[] {
  const path = join(folder, name);
  return lookedInto(folder, onForbidden, () => (statSync(path, { throwIfNoEntry: false }) === undefined ? [] : [path]));
}

function lookedInto(folder: string, onForbidden: OnForbidden, look: () => readonly string[]): readonly string[] {
  try {
    return look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') onForbidden(folder, error);
    return [];
  }
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
