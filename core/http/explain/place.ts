import type { ExplainedPlace } from '../../contract/explain.js';
import type { Directive } from '../../contract/tree.js';

/** Where a directive is written, for what has one. */
export function placeOf(directive: Directive | undefined): { readonly place?: ExplainedPlace } {
  if (directive === undefined || directive.source.file === '') return {};
  const { file, line } = directive.source;
  return { place: { file, line } };
}
