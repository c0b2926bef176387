import { errorAt } from '../../config/errors.js';
import type { Directive } from '../../contract/tree.js';
import type { LocationMatch } from './location.js';
import type { ScopeNode } from '../../config/scope.js';
import { locationMatch } from './settings.js';

/** nginx's rules for places of locations. @throws ConfigError */
export function checkPlace(directive: Directive, match: LocationMatch, parent: ScopeNode): void {
  if (parent.kind !== 'location' || parent.directive === undefined) return;
  const outer = locationMatch(parent.directive);
  const shown = directive.args.map((word) => word.text).join(' ');
  const refuse = (message: string): never => {
    throw errorAt(directive, message, directive.args.at(-1));
  };
  if (match.kind === 'named') refuse(`named location "${shown}" can be on the server level only`);
  if (outer.kind === 'exact') refuse(`location "${shown}" cannot be inside the exact location "${outer.name}"`);
  if (outer.kind === 'named') refuse(`location "${shown}" cannot be inside the named location "${outer.name}"`);
  // A prefix in a regular expression begins with its very text, whatever that matches.
  if (match.kind !== 'regex' && !match.name.startsWith(outer.name)) {
    refuse(`location "${match.name}" is outside location "${outer.name}"`);
  }
}
