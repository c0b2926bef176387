/** The schemas of a setting's calls, made of those of its fields. */
import { Type, type TSchema } from 'typebox';
import { DATA_PLANE_ERRORS, type RouteSchemas } from '../../contract/control.js';
import type { FieldSet, Setting } from '../../contract/setting.js';
import { Done } from '../../contract/versioned.js';

/** Locations in locations that a call may hold. */
const DEPTH = 4;

type Properties = Readonly<Record<string, TSchema>>;
/** Makes the property of a field. */
type Property = (schema: TSchema) => TSchema;

export function listSchemas(setting: Setting): RouteSchemas {
  return {
    summary: `List the ${setting.summary}`,
    query: Type.Object({
      after: Type.Optional(Type.Integer({ minimum: 0, description: 'Last entry of the previous page.' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Servers of the page.' })),
    }),
    responses: { 200: Type.Object(bodyFields(setting, Type.Optional), { title: titleOf(setting) }) },
    headers: ['ETag', 'Link'],
    errors: DATA_PLANE_ERRORS,
  };
}

export function changeSchemas(setting: Setting): RouteSchemas {
  const { errors = [] } = setting;
  return {
    summary: `Change the ${setting.summary}`,
    dryRun: true,
    maxBody: 32 * 1024 * 1024,
    body: Type.Object(
      bodyFields(setting, (schema) => Type.Optional(nullable(schema))),
      { title: `${titleOf(setting)}Change` },
    ),
    responses: { 200: Done },
    headers: ['ETag'],
    errors: [
      ...DATA_PLANE_ERRORS,
      'ServerNotFound',
      'LocationNotFound',
      'ConfigError',
      'ChangedMeanwhile',
      'HeapFull',
      'StoreFull',
      ...errors,
    ],
  };
}

function bodyFields({ global, server, location }: Setting, property: Property): Properties {
  const servers = Type.Array(
    Type.Object({
      listens: Type.Array(Type.String(), { minItems: 1, description: 'Addresses that the server listens on: `0.0.0.0:80`.' }),
      serverNames: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: 'Absent: the default server of each address.' })),
      ...fieldsOf(server, property),
      ...(location && { locations: Type.Optional(Type.Array(locationSchema(location, property, DEPTH))) }),
    }),
  );
  return { ...fieldsOf(global, property), ...((server ?? location) && { servers: Type.Optional(servers) }) };
}

function locationSchema(sets: readonly FieldSet[], property: Property, depth: number): TSchema {
  return Type.Object({
    location: Type.String({ minLength: 1, description: 'With its modifier: `/x`, `= /x`, `~ \\.php$`.' }),
    ...fieldsOf(sets, property),
    ...(depth > 0 && { locations: Type.Optional(Type.Array(locationSchema(sets, property, depth - 1))) }),
  });
}

function fieldsOf(sets: readonly FieldSet[] = [], property: Property): Properties {
  return Object.fromEntries(
    sets.flatMap(({ fields }) => Object.entries(fields).map(([name, schema]) => [name, property(Type.Unsafe<unknown>(schema))])),
  );
}

/** `null` takes back what a field stands for. */
function nullable(schema: TSchema): TSchema {
  const json = JSON.parse(JSON.stringify(schema)) as Readonly<Record<string, unknown>>;
  const { type, enum: values } = json;
  return Type.Unsafe<unknown>({
    ...json,
    ...(type !== undefined && { type: [type, 'null'].flat() }),
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  });
}

/** `http_dyn_limit` is `HttpDynLimit`. */
function titleOf({ key }: Setting): string {
  return key.replaceAll(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase());
}
