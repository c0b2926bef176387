type Json = Readonly<Record<string, unknown>>;

/** The named schemas of a document: those with a `title`, each written once and referred to everywhere else. */
export class NamedSchemas {
  readonly #schemas = new Map<string, Json>();

  get all(): Json {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The schema as the document has it: named parts are references. @throws Error where two schemas have one title */
  reference(schema: object): Json {
    return this.#replaced(JSON.parse(JSON.stringify(schema))) as Json;
  }

  /** A response to GET, whole and with `fields`, which may leave out any field of an object or of the entries of an array. */
  selectable(schema: object): object[] {
    const part = withoutRequired(schema as Json);
    return part === undefined ? [schema] : [schema, part];
  }

  #replaced(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.#replaced(entry));
    if (typeof value !== 'object' || value === null) return value;
    const schema = Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, this.#replaced(entry)]));
    return typeof schema['title'] === 'string' && schema['type'] === 'object' ? this.#named(schema['title'], schema) : schema;
  }

  #named(title: string, schema: Json): Json {
    const known = this.#schemas.get(title);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`two schemas are called "${title}"`);
    this.#schemas.set(title, schema);
    return { $ref: `#/components/schemas/${title}` };
  }
}

/** Undefined for a schema without fields. */
function withoutRequired(schema: Json): Json | undefined {
  if (typeof schema['items'] === 'object' && schema['items'] !== null) {
    const items = withoutRequired(schema['items'] as Json);
    return items && { ...schema, items };
  }
  if (schema['type'] !== 'object') return undefined;
  const { required: _required, title, ...others } = schema;
  return { ...(typeof title === 'string' && { title: `Selected${title}` }), ...others };
}
