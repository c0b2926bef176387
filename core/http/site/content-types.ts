import type { Directive } from '../../contract/tree.js';

/** Content types by file name extension, in lower case. */
export type ContentTypes = ReadonlyMap<string, string>;

/** Types of nginx without a `types` block. */
const DEFAULT_TYPES: ContentTypes = new Map([
  ['html', 'text/html'],
  ['gif', 'image/gif'],
  ['jpg', 'image/jpeg'],
]);

/** Reads the `types` blocks of one level; locations that have the same ones share the table. */
export class ContentTypeTables {
  /** By the first block. */
  readonly #tables = new WeakMap<Directive, { readonly blocks: readonly Directive[]; readonly table: ContentTypes }>();

  /** @param blocks the ones that apply: of the innermost level that has any */
  tableOf(blocks: readonly Directive[]): ContentTypes {
    const [first] = blocks;
    if (first === undefined) return DEFAULT_TYPES;
    const known = this.#tables.get(first);
    if (known?.blocks.length === blocks.length && blocks.every((block, at) => block === known.blocks[at])) return known.table;
    const table = new Map<string, string>();
    for (const types of blocks)
      for (const { name, args } of types.block ?? []) for (const { text } of args) table.set(text.toLowerCase(), name);
    this.#tables.set(first, { blocks, table });
    return table;
  }
}

/** The content type of a response without one of its own, by the extension of the path; undefined: none is known. */
export function contentTypeOf(path: string, types: ContentTypes): string | undefined {
  const dot = path.lastIndexOf('.');
  // A name that is all extension, such as /.html, has none.
  if (dot < 2 || path[dot - 1] === '/' || path.includes('/', dot)) return undefined;
  return types.get(path.slice(dot + 1).toLowerCase());
}
