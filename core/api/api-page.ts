/** The OpenAPI document as a page for people: one file of HTML, without scripts and without anything from elsewhere. */
import { createHash } from 'node:crypto';
import { Html, html, prose } from './html.js';
import { fieldTable, schemaAnchor, schemaLine, type SchemaJson } from './schema-html.js';

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: SchemaJson }>>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: SchemaJson;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>;
}
/** Parts of a document on the page. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaJson>> };
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const STYLE = `:root{color-scheme:light dark;--line:#8884;--soft:#8882}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:64rem;padding:1rem}
code,pre{font:.875em/1.5 ui-monospace,monospace}pre{background:var(--soft);overflow:auto;padding:.5rem}
table{border-collapse:collapse;display:block;overflow:auto}th,td{border-bottom:1px solid var(--line);padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top}
summary{cursor:pointer;padding:.25rem 0}details{border-bottom:1px solid var(--line)}details>div{padding:0 0 1rem 1.25rem}
.GET,.POST,.PUT,.PATCH,.DELETE{display:inline-block;font-weight:bold;width:4.5rem}`;

/** Allows this style and nothing else: no script, no image, no frame around the page. */
export function pagePolicy(): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export function apiPage({ info, paths, components: { schemas } }: ApiDocument): string {
  const calls = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]): Call => ({ method: verb.toUpperCase(), path, operation })),
  );
  const sections = [...Map.groupBy(calls, ({ operation }) => operation.tags[0] ?? '')];
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${info.title}</title>
        <style>
          ${rawStyle()}
        </style>
      </head>
      <body>
        <h1>${info.title}</h1>
        <p>
          Version ${info.version}. For programs: <a href="openapi.json">openapi.json</a>. In the examples <code>$API</code> is the address
          of this page without <code>/v1/openapi.html</code>.
        </p>
        <nav>
          <ul>
            ${sections.map(([tag]) => html`<li><a href="#${tag}">${tag}</a></li>`)}
            <li><a href="#schemas">schemas</a></li>
          </ul>
        </nav>
        ${sections.map(
          ([tag, all]) =>
            html`<section id="${tag}">
              <h2>${tag}</h2>
              ${all.map(callPart)}
            </section>`,
        )}
        <section id="schemas">
          <h2>Schemas</h2>
          ${Object.entries(schemas).map(([name, schema]) => schemaPart(name, schema))}
        </section>
      </body>
    </html> `;
  return page.text;
}

/** The policy names its hash: it must stay as it is. */
function rawStyle(): Html {
  return new Html(STYLE);
}

function callPart({ method, path, operation }: Call): Html {
  const { operationId, summary, parameters, requestBody, responses } = operation;
  return html`<details id="${operationId}">
    <summary><span class="${method}">${method}</span> <code>${path}</code> ${summary}</summary>
    <div>
      <pre>${example(method, path, requestBody !== undefined)}</pre>
      ${parameterTable(parameters)}
      ${
        requestBody &&
        html`<h4>Body</h4>
          ${contents(requestBody)}`
      }
      <h4>Responses</h4>
      <table>
        <tbody>
          ${Object.entries(responses).map(([status, response]) => responseRow(status, response))}
        </tbody>
      </table>
    </div>
  </details>`;
}

function example(method: string, path: string, hasBody: boolean): string {
  const verb = method === 'GET' ? '' : `-X ${method} `;
  return `curl ${verb}"$API${path}"${hasBody ? ` -H content-type:application/json -d '…'` : ''}`;
}

function parameterTable(parameters: readonly Parameter[]): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<tr>
        <td><code>${name}</code>${required ? html` <b>required</b>` : undefined}</td>
        <td>${place}</td>
        <td>${schemaLine(schema)}</td>
        <td>${prose(description ?? schema.description)}</td>
      </tr>`,
  );
  return html`<h4>Parameters</h4>
    <table>
      <tbody>
        ${rows}
      </tbody>
    </table>`;
}

function responseRow(status: string, response: Content & { readonly description: string }): Html {
  const isError = status === 'default' || Number(status) >= 400;
  return html`<tr>
    <td>${status}</td>
    <td>${prose(response.description)}${isError ? undefined : contents(response)}</td>
  </tr>`;
}

function contents({ content = {} }: Content): Html {
  return html`${Object.entries(content).map(
    ([type, { schema }]) => html`<div><code>${type}</code>: ${schemaLine(schema)}${fieldTable(schema)}</div>`,
  )}`;
}

function schemaPart(name: string, schema: SchemaJson): Html {
  return html`<details id="${schemaAnchor(name)}">
    <summary><code>${name}</code> ${prose(schema.description)}</summary>
    <div>${fieldTable(schema) ?? schemaLine(schema)}</div>
  </details>`;
}
