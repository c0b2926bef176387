/** Types for schemas of routes. Modules take it from here, so that one outside of the installation needs no package of its own. */
import { Type, type TUnsafe } from 'typebox';
import { Signature } from './arguments.js';
import { DURATION_SCHEMA, type Duration } from './duration.js';
import type { ArgType, DirectiveJson, DirectiveSpec, JsonSchema } from './spec.js';

export { durationOf, durationText, type Duration } from './duration.js';
export { Type, type Static, type TSchema } from 'typebox';

/** The schema of a {@link Duration}. */
export function duration() {
  return Type.Unsafe<Duration>(DURATION_SCHEMA);
}

type ArgSchemas<S extends DirectiveSpec> = { readonly [K in keyof DirectiveJson<S>]: TUnsafe<DirectiveJson<S>[K]> };

/**
 * The schemas of the arguments of a `dynamic` directive, by their names in its spec: what a route accepts, and what it shows
 * (`DirectiveCodec.show`). Ranges, forms, defaults and descriptions are those of the spec.
 * @throws Error if the API may not change the directive, or an argument has no JSON form
 */
export function argSchemas<const S extends DirectiveSpec>(spec: S): { readonly accepted: ArgSchemas<S>; readonly shown: ArgSchemas<S> } {
  const { dynamic, argDocs = {} } = spec;
  if (dynamic === undefined) throw new Error('the directive is not dynamic');
  const fields = new Signature(spec).fields.filter(({ name }) => dynamic === true || dynamic.includes(name));
  const accepted = fields.map(({ name, type }) => [name, schemaOf(type, argDocs[name], false)]);
  const shown = fields.map(({ name, type }) => [name, schemaOf(type, argDocs[name], true)]);
  return { accepted: Object.fromEntries(accepted) as ArgSchemas<S>, shown: Object.fromEntries(shown) as ArgSchemas<S> };
}

function schemaOf(type: ArgType<unknown>, doc: string | undefined, isShown: boolean): TUnsafe {
  const { json } = type.of ?? type;
  const schema = (isShown && json.shown) || json.schema;
  const fallback = type.absent === undefined || isShown ? {} : { default: type.kind === 'rest' ? type.absent : json.show(type.absent) };
  const one: JsonSchema = { ...schema, ...described(schema, doc), ...(type.kind !== 'rest' && fallback) };
  return Type.Unsafe<unknown>(type.kind === 'rest' ? { type: 'array', items: one, minItems: type.least, ...fallback } : one);
}

/** The description of a form completes "must be …" in messages: what is said beside it is a title then. */
function described({ pattern }: JsonSchema, doc: string | undefined): JsonSchema {
  if (doc === undefined) return {};
  return pattern === undefined ? { description: doc } : { title: doc };
}
