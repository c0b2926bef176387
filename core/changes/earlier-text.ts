import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree } from '../config/tree.js';
import type { Block, Directive, Source } from '../contract/tree.js';
import { Addresses, readable } from './address.js';
import { callOf, placeInCall, type CallPlace } from './parse-directive.js';

/** Where errors of a change are: text of earlier calls is in no field of this one, and is named by its place in the configuration. */
export class EarlierText {
  /** @param number of the change @param tree after it */
  constructor(
    private readonly number: number,
    private readonly tree: ConfigTree,
    private readonly registry: SpecRegistry,
  ) {}

  readonly placeOf = (source: Source): CallPlace | undefined => {
    const place = placeInCall(source);
    if (place === undefined || callOf(source, this.number) !== undefined) return place;
    const directive = directiveAt(source, this.tree.root);
    return directive && { place: readable(new Addresses(this.tree, this.registry, () => false).of(directive.id)) };
  };
}

/** The outermost one: what is made of the fields of a call has no line. */
function directiveAt(source: Source, block: Block): Directive | undefined {
  for (const directive of block) {
    if (isAt(source, directive)) return directive;
    const inside = directive.block && directiveAt(source, directive.block);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

function isAt({ file, line, column }: Source, { source, args }: Directive): boolean {
  return source.file === file && [source, ...args].some((word) => word.line === line && word.column === column);
}
