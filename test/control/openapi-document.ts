import type { ExecutionContext } from 'ava';
import { Compile } from 'typebox/compile';
import { StrictSchema } from '../../core/api/schema.js';
import { get, type HttpResponse } from '../harness/client.js';

type Components = Readonly<Record<string, Readonly<Record<string, object>>>>;
type Content = Readonly<Record<string, { readonly schema: object }>>;
interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object; readonly description?: string }[];
  readonly responses: Readonly<Record<string, { readonly content?: Content; readonly headers?: object }>>;
}

/** The OpenAPI document of a running node, to hold its responses against. */
export class OpenApiDocument {
  /** Operations that a response was checked for: `GET /v1/kv`. */
  readonly seen = new Set<string>();

  private constructor(
    private readonly t: ExecutionContext,
    private readonly port: number,
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>,
    readonly components: Components,
  ) {}

  static async of(t: ExecutionContext, port: number): Promise<OpenApiDocument> {
    const { components, paths } = JSON.parse((await get(port, '/api/v1/openapi.json')).body) as {
      components: Components;
      paths: OpenApiDocument['paths'];
    };
    const resolved = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(resolved);
      if (!(value instanceof Object)) return value;
      if (!('$ref' in value)) return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, resolved(entry)]));
      const [, , kind = '', name = ''] = String(value.$ref).split('/');
      const found = components[kind]?.[name];
      t.truthy(found, `${String(value.$ref)} is not in the document`);
      return resolved(found);
    };
    return new OpenApiDocument(t, port, resolved(paths) as OpenApiDocument['paths'], components);
  }

  /** All operations: `GET /v1/kv`. */
  get operations(): string[] {
    return Object.entries(this.paths).flatMap(([path, verbs]) => Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`));
  }

  /** Makes a call; its response has to have this status, and the form that the document names for it, which `default` is none of. */
  async call(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpResponse> {
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await get(this.port, `/api/v1${path}`, {
      method,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      ...(sent !== undefined && { body: sent }),
    });
    const name = `${method} ${path}`;
    this.t.is(answer.status, status, `${name}: ${answer.body.slice(0, 300)}`);
    const operation = this.#operation(method, path);
    const response = operation.responses[String(status)] ?? operation.responses['2XX'];
    this.t.truthy(response, `${name}: ${status} is not in the document`);
    this.#assertQuery(operation, name, new URL(path, 'http://x').searchParams);
    if (answer.body !== '') this.#assertForm(answer, `${name} ${status}`, response?.content);
    return answer;
  }

  #operation(method: string, path: string): Operation {
    const plain = `/v1${path.replace(/\?.*/, '').replace(/\/$/, '')}`;
    const template = Object.keys(this.paths).find((known) => new RegExp(`^${known.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(plain));
    const operation = this.paths[template ?? '']?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${method} ${path} is not in the document`);
    this.seen.add(`${method} ${template}`);
    return operation;
  }

  #assertForm({ headers, body }: HttpResponse, name: string, content: Content = {}): void {
    const type = String(headers['content-type']).replace(/;.*/, '');
    const schema = content[type]?.schema;
    this.t.truthy(schema, `${name}: ${type} is not in the document`);
    const value: unknown = type === 'application/json' ? JSON.parse(body) : body;
    // Strict: what the document does not name is not to be in the response either.
    const { json } = new StrictSchema(schema as never);
    this.t.true(Compile(json as never).Check(value), `${name}: ${body.slice(0, 300)}`);
  }

  /** What was accepted is what the document says. */
  #assertQuery({ parameters }: Operation, name: string, query: URLSearchParams): void {
    for (const { name: parameter, schema } of parameters.filter((of) => of.in === 'query')) {
      const text = query.get(parameter);
      if (text === null) continue;
      this.t.true('value' in new StrictSchema(schema).read(text), `${name}: ${parameter}=${text}`);
    }
  }
}
