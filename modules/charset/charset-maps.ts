import type { Scope } from '../../core/contract/http.js';
import type { Directive } from '../../core/contract/tree.js';

/** One `charset_map`, by pairs of bytes as latin1 strings: a character of one charset, and what it is in the other. */
export interface CharsetMap {
  readonly from: string;
  readonly to: string;
  readonly pairs: ReadonlyMap<number, string>;
}

const BYTE = /^[0-9a-f]{1,2}$/i;
/** One to four bytes. */
const UTF8 = /^(?:[0-9a-f]{2}){1,4}$/i;
const HINT = 'an entry is written: C1 D0B0;';

export const isUtf8 = (charset: string): boolean => charset === 'utf-8';

/** All maps of a configuration. Rejects it at a line that is wrong. */
export function readMaps(lines: readonly Directive[], scope: Pick<Scope, 'fail'>): readonly CharsetMap[] {
  const maps: CharsetMap[] = [];
  for (const line of lines) {
    const [from = '', to = ''] = line.args.map(({ text }) => text);
    const map = { from: from.toLowerCase(), to: to.toLowerCase() };
    if (map.from === map.to) scope.fail(`"charset_map" between the same charsets "${from}" and "${to}"`, line);
    if (findMap(maps, map.from, map.to) !== undefined) scope.fail(`duplicate "charset_map" between "${from}" and "${to}"`, line);
    maps.push({ ...map, pairs: new Map(Array.from(line.block ?? [], (entry) => readPair(entry, isUtf8(map.to), scope))) });
  }
  return maps;
}

/** The map between two charsets, in either direction. */
export function findMap(maps: readonly CharsetMap[], one: string, other: string): CharsetMap | undefined {
  return maps.find(({ from, to }) => (from === one && to === other) || (from === other && to === one));
}

function readPair(entry: Directive, toUtf8: boolean, scope: Pick<Scope, 'fail'>): [number, string] {
  const { name, args } = entry;
  const [value, ...more] = args.map(({ text }) => text);
  if (value === undefined || more.length > 0) scope.fail('invalid parameters number', entry, HINT);
  if (!BYTE.test(name)) scope.fail(`invalid value "${name}"`, entry, HINT);
  const text = value ?? '';
  if (!(toUtf8 ? UTF8 : BYTE).test(text)) scope.fail(`invalid value "${text}"`, entry, HINT);
  return [Number.parseInt(name, 16), Buffer.from(text.padStart(2, '0'), 'hex').latin1Slice()];
}
