/**
 * Joins a state file with the store's knowledge of its lines. The store has precedence: a file as srv wrote it adds nothing. An edited file
 * is used, with the changes of the API since the version it was edited from on top of it.
 */
import type { SpecRegistry } from '../config/registry.js';
import type { ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { keyRows } from './lasting-keys.js';
import type { StateFileContent } from './state-file-content.js';
import type { KeyRow } from './store-tables.js';
import type { FileVersion, StateFileRow, StateLine } from './state-tables.js';

export interface StateFileInput {
  readonly content: StateFileContent;
  /** All lines of the block, removed ones as well, in their order. */
  readonly lines: readonly StateLine[];
  readonly row: StateFileRow | undefined;
}

/** The version that a file has completely, and whether it was edited. */
export function versionOf({ content: { header, digest }, row }: StateFileInput): { readonly version: number; readonly edited: boolean } {
  const isOurs = (known: FileVersion | undefined): boolean => known?.version === header?.version && known?.digest === digest;
  if (header !== undefined && header.digest === digest && (isOurs(row?.written) || isOurs(row?.next)))
    return { version: header.version, edited: false };
  const last = Math.max(row?.written.version ?? 0, row?.next?.version ?? 0);
  // A copy of a whole file is used unchanged, and a later version than we ever wrote is from another server.
  const isKnown = header !== undefined && header.digest !== digest && header.version <= last;
  return { version: isKnown ? header.version : (row?.written.version ?? 0), edited: true };
}

/** Content of a line in a file of this version; undefined: nothing, or it {@link isKnownIn is not known} any more. */
export function textIn(line: StateLine, version: number): string | undefined {
  if (line.next?.version === version) return line.next.text;
  if (line.changed <= version) return line.text;
  if (line.since <= version) return line.written;
  return line.old !== undefined && line.old.since <= version ? line.old.text : undefined;
}

/** True if it is known what a file of this version says of a line: it was not changed too often since. */
function isKnownIn({ next, changed, since, old }: StateLine, version: number): boolean {
  return next?.version === version || Math.min(changed, since, old?.since ?? Infinity) <= version;
}

/** One line of the block as it takes effect. */
export interface JoinedLine {
  readonly key: number;
  readonly directive: Directive;
}

export interface Joined {
  readonly inFile: readonly JoinedLine[];
  readonly inForce: readonly JoinedLine[];
  /** Changes of the API to lines that the file does not have any more. */
  readonly dropped: readonly StateLine[];
}

export interface JoinOptions {
  readonly registry: SpecRegistry;
  readonly context: ContextName;
  /** Keys of lines that were in this block before it had the file, or before the file went missing. */
  readonly remembered: readonly KeyRow[];
  /** A key that was never used in the block. */
  readonly nextKey: () => number;
  readonly parse: (text: string) => Directive;
}

/**
 * @param directives of an edited file, in order
 * @param version the one it was edited from
 */
export function joinLines(directives: readonly Directive[], { lines }: StateFileInput, version: number, options: JoinOptions): Joined {
  const inFile = assignKeys(directives, lines, version, options);
  const joined = new Map(inFile.map(({ key, directive }) => [key, directive]));
  const added = new Map<number, Directive>();
  const dropped: StateLine[] = [];
  for (const line of lines) {
    const { key, text, changed, born } = line;
    if (changed <= version) continue;
    if (text === undefined) joined.delete(key);
    else if (joined.has(key)) joined.set(key, options.parse(text));
    else if (born > version || !isKnownIn(line, version)) added.set(key, options.parse(text));
    else dropped.push(line);
  }
  return { inFile, inForce: inOrder(joined, added, lines), dropped };
}

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** The lines of the file, and each addition of the API in front of the line that follows it in the store. */
function inOrder(
  joined: ReadonlyMap<number, Directive>,
  added: ReadonlyMap<number, Directive>,
  lines: readonly StateLine[],
): readonly JoinedLine[] {
  const inFront = new Map<number | undefined, JoinedLine[]>();
  let next: number | undefined;
  for (const { key } of lines.toReversed()) {
    const directive = added.get(key);
    if (directive !== undefined) push(inFront, next, { key, directive });
    else if (joined.has(key)) next = key;
  }
  const linesBefore = (key: number | undefined): readonly JoinedLine[] => inFront.get(key)?.toReversed() ?? [];
  return [...Array.from(joined).flatMap(([key, directive]) => [...linesBefore(key), { key, directive }]), ...linesBefore(undefined)];
}

/**
 * Says which lines of the file are which: by their content and their number among equals. An unknown one is a line of the API that was
 * written into the file, or a new one.
 */
function assignKeys(
  directives: readonly Directive[],
  lines: readonly StateLine[],
  version: number,
  { registry, context, remembered, parse, nextKey }: JoinOptions,
): JoinedLine[] {
  const keysBy = (textOf: (line: StateLine) => string | undefined): KeyRow[] => {
    const texts = lines.flatMap((line) => {
      const text = textOf(line);
      return text === undefined ? [] : [{ key: line.key, directive: parse(text) }];
    });
    return keyRows(texts, context, registry);
  };
  const rows = keyRows(
    directives.map((directive) => ({ directive, key: -1 })),
    context,
    registry,
  );
  const used = new Set<number>();
  const keys: (number | undefined)[] = rows.map(() => undefined);
  for (const known of [remembered, keysBy((line) => textIn(line, version)), keysBy(({ text }) => text)].map(keysByName)) {
    for (const [at, row] of rows.entries()) {
      const key = known.get(nameOf(row));
      if (keys[at] !== undefined || key === undefined || used.has(key)) continue;
      keys[at] = key;
      used.add(key);
    }
  }
  return directives.map((directive, at) => ({ directive, key: keys[at] ?? nextKey() }));
}

const nameOf = ({ identity, occurrence }: KeyRow): string => `${occurrence}:${identity}`;
const keysByName = (rows: readonly KeyRow[]): Map<string, number> => new Map(rows.map((row) => [nameOf(row), row.key]));
