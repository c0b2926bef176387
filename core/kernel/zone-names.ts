import { ownDirective } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import type { ErrorCollector } from '../config/error-collector.js';
import type { Directive } from '../contract/tree.js';
import { upstreamsOf } from '../upstream/touched.js';
import type { Change } from '../config/change.js';

/** In nginx's words. */
export const otherUse = (name: string): string => `the shared memory zone "${name}" is already declared for a different use`;

/** Finds zones of modules that an upstream has the name of as well. @param declared the directives of modules, by the name of their zone */
export function findSharedNames({ after }: Change, declared: ReadonlyMap<string, Directive>, errors: ErrorCollector): void {
  if (declared.size === 0) return;
  for (const upstream of [...upstreamsOf(after, 'http'), ...upstreamsOf(after, 'stream')]) {
    const name = zoneLine(upstream)?.args[0]?.text ?? '';
    const directive = declared.get(name);
    if (directive !== undefined) errors.add(errorAt(directive, otherUse(name), undefined, hintFor(upstream, name)));
  }
}

/**
 * As {@link findSharedNames}, for a change that leaves the zones of modules alone: looks at no upstream but those it is about.
 * @throws ConfigError
 */
export function assertOtherNames({ after, operations }: Change, declared: { has(name: string): boolean }): void {
  for (const operation of operations) {
    if (!('directive' in operation)) continue;
    const upstream = after.pathOf(operation.directive.id).find(({ name }) => name === 'upstream');
    const line = upstream && zoneLine(upstream);
    const name = line?.args[0]?.text ?? '';
    if (line !== undefined && declared.has(name))
      throw errorAt(line, otherUse(name), undefined, 'choose another name for the zone of the upstream');
  }
}

const hintFor = ({ args }: Directive, name: string): string => `upstream "${args[0]?.text ?? ''}" has "zone ${name}": choose another name`;

const zoneLine = ({ block }: Directive): Directive | undefined => block && ownDirective(block, 'zone');
