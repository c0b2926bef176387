/** JSON schemas as HTML: what a value may be, in a line, and the fields of objects as a table. */
import { html, prose, type Html } from './html.js';

/** A schema of the OpenAPI document, as far as the page shows it. */
export interface SchemaJson {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaJson[];
  readonly allOf?: readonly SchemaJson[];
  readonly items?: SchemaJson;
  readonly properties?: Readonly<Record<string, SchemaJson>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly [keyword: string]: unknown;
}

/** Keywords that limit a value, with how they are read. */
const LIMITS: Readonly<Record<string, string>> = {
  minimum: '≥',
  maximum: '≤',
  minLength: 'at least, characters:',
  maxLength: 'at most, characters:',
  minItems: 'at least, entries:',
  maxItems: 'at most, entries:',
  pattern: 'matches',
};

/** Anchor of a named schema on the page. */
export function schemaAnchor(name: string): string {
  return `schema-${name}`;
}

/** A value in a line: `array of Member`, `integer, ≥ 1, ≤ 65535`. */
export function schemaLine(schema: SchemaJson): Html {
  const { $ref, const: only, enum: values, anyOf, items, type = 'any' } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
  }
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`;
  if (values !== undefined) return joined(values.map((value) => html`<code>${JSON.stringify(value)}</code>`));
  if (anyOf !== undefined) return joined(anyOf.map((one) => schemaLine(one)));
  if (items !== undefined) return html`array of ${schemaLine(items)}${limits(schema)}`;
  return html`${type}${limits(schema)}`;
}

/** The fields of an object, and of objects in it that have no name. Nothing for other schemas. */
export function fieldTable(schema: SchemaJson): Html | undefined {
  const rows = fieldRows(schema, '');
  if (rows.length === 0) return undefined;
  return html`<table>
    <thead>
      <tr>
        <th>field</th>
        <th>value</th>
        <th>meaning</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

function fieldRows({ properties = {}, required = [], items, anyOf = [], allOf = [] }: SchemaJson, prefix: string): readonly Html[] {
  const own = Object.entries(properties).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = required.includes(name) ? html` <b>required</b>` : undefined;
    const initially = field.default === undefined ? undefined : html`, default <code>${JSON.stringify(field.default)}</code>`;
    const row = html`<tr>
      <td><code>${path}</code>${isRequired}</td>
      <td>${schemaLine(field)}${initially}</td>
      <td>${prose(field.description)}</td>
    </tr>`;
    return [row, ...fieldRows(field, `${path}.`)];
  });
  const entries = items === undefined ? [] : fieldRows(items, prefix === '' ? '[].' : `${prefix.slice(0, -1)}[].`);
  return [...own, ...entries, ...[...anyOf, ...allOf].flatMap((one) => fieldRows(one, prefix))];
}

function joined(parts: readonly Html[]): Html {
  return html`${parts.map((part, i) => (i === 0 ? part : html` | ${part}`))}`;
}

function limits(schema: SchemaJson): Html {
  const found = Object.entries(LIMITS).filter(([keyword]) => schema[keyword] !== undefined);
  return html`${found.map(([keyword, text]) => html`, ${text} <code>${String(schema[keyword])}</code>`)}`;
}
