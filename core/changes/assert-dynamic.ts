import { ConfigError, errorAt } from '../config/errors.js';
import type { SpecRegistry } from '../config/registry.js';
import { readPlain } from '../contract/directive-codec.js';
import type { ContextName, DirectiveSpec } from '../contract/spec.js';
import type { Written } from '../contract/tree.js';

const HINT = 'change the configuration file and reload';

/**
 * Asserts that the spec of a directive lets the API add or remove such directives. Unknown directives are for the validation.
 * @throws ConfigError
 */
export function assertDynamic(directive: Written, context: ContextName | undefined, registry: SpecRegistry): void {
  const spec = specOf(directive, context, registry);
  if (spec !== undefined && spec.dynamic !== true) throw notDynamic(directive);
}

/**
 * Asserts that the API may put one directive in the place of another: its spec allows every change, or the change of those arguments that
 * differ.
 * @throws ConfigError
 */
export function assertChangeable(old: Written, now: Written, context: ContextName | undefined, registry: SpecRegistry): void {
  const spec = specOf(now, context, registry);
  if (spec === undefined) return;
  if (old.name !== now.name) assertDynamic(old, context, registry);
  else if (Array.isArray(spec.dynamic) && fixedPart(spec, spec.dynamic, old) === fixedPart(spec, spec.dynamic, now)) return;
  if (spec.dynamic !== true) throw notDynamic(now, spec.dynamic);
}

function specOf({ name }: Written, context: ContextName | undefined, registry: SpecRegistry): DirectiveSpec | undefined {
  return context === undefined || context === 'entries' ? undefined : registry.find(context, name)?.spec;
}

/** The arguments that the API may not change, as one text. Of a malformed directive, all of it: that is reported elsewhere. */
function fixedPart(spec: DirectiveSpec, dynamic: readonly string[], directive: Written): string {
  const values = readPlain(spec, directive);
  if (typeof values !== 'object' || values === null) return JSON.stringify(directive.args.map(({ text }) => text));
  return JSON.stringify(Object.entries(values).filter(([name]) => !dynamic.includes(name)));
}

function notDynamic(directive: Written, dynamic: readonly string[] = []): ConfigError {
  const message = `"${directive.name}" directive cannot be changed at run time`;
  return errorAt(directive, message, undefined, dynamic.length === 0 ? HINT : `only these arguments can: ${dynamic.join(', ')}`);
}
