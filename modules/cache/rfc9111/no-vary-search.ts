/** The field No-Vary-Search (draft-ietf-httpbis-no-vary-search): arguments of a query that make no difference. */
import { parseDictionary, type Item } from './dictionary.js';

/** Arguments that count. */
export interface SearchVariance {
  /** Names of arguments that do not count, or, for `except`, of the only ones that do. */
  readonly names: ReadonlySet<string>;
  readonly isExcept: boolean;
  /** The order of arguments with different names counts. */
  readonly isOrdered: boolean;
}

/** Undefined: there is no such field, it is malformed, or all arguments count in their order. */
export function parseNoVarySearch(value: string | undefined): SearchVariance | undefined {
  const dictionary = value === undefined ? undefined : parseDictionary(value);
  if (dictionary === undefined) return undefined;
  const [order, params, except] = ['key-order', 'params', 'except'].map((name) => dictionary.get(name));
  if (order !== undefined && order.type !== 'boolean') return undefined;
  const isOrdered = order?.value !== true;
  const isExcept = params?.type === 'boolean' && params.value;
  if (params !== undefined && params.type !== 'boolean' && params.type !== 'list') return undefined;
  if (except !== undefined && (!isExcept || except.type !== 'list')) return undefined;
  const names = namesIn(isExcept ? except : params);
  if (names === undefined || (isOrdered && !isExcept && names.size === 0)) return undefined;
  return { names, isExcept, isOrdered };
}

function namesIn(list: Item | undefined): ReadonlySet<string> | undefined {
  if (list?.type !== 'list') return new Set();
  const texts = list.value.flatMap((item) => (item.type === 'string' ? [item.value] : []));
  // Names are encoded as in a query.
  return texts.length === list.value.length ? new Set(texts.flatMap((text) => [...new URLSearchParams(text).keys()])) : undefined;
}

/** The arguments that count, in one form for all queries that are the same. */
export function normalQuery(query: string, { names, isExcept, isOrdered }: SearchVariance): string {
  const params = new URLSearchParams([...new URLSearchParams(query)].filter(([name]) => names.has(name) === isExcept));
  if (!isOrdered) params.sort();
  return params.toString();
}
