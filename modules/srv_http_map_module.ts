import { size, template, variableName } from '../core/module/args.js';
import type { HttpRequest, Template, VariableGetter } from '../core/module/http.js';
import { oncePerRequest } from '../core/module/once-per-request.js';
import { httpModule, type DefinitionContext } from '../core/module/manifest.js';
import { compilePattern, namedGroups } from '../core/module/pattern.js';
import { ArgError, directive } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';
import { MapTable } from './srv_http_map_module/map-table.js';

const directives = {
  map: directive({
    in: ['http'],
    args: { source: template('string'), variable: variableName() },
    block: 'entries',
    many: true,
    inherit: 'none',
    identity: ({ args }) => args.map(({ text }) => text).join(' '),
    defines: ({ args, block }) => [
      ...(args[1]?.text.startsWith('$') === true ? [args[1].text.slice(1)] : []),
      ...Array.from(block ?? [], ({ name }) => namedGroups(name)).flat(),
    ],
    dynamic: true,
    doc: 'Defines a variable whose value depends on another text. Entries of the block are exact strings, with hostnames masks such as *.example.org, or regular expressions (~ and ~* in front), and values, which may have variables; default is the value where none matches (without it empty), include reads entries from a file, volatile evaluates the value at each use.',
  }),
  map_hash_max_size: directive({ in: ['http'], args: size(), inherit: 'none', doc: 'Accepted: tables grow as needed.' }),
  map_hash_bucket_size: directive({ in: ['http'], args: size(), inherit: 'none', doc: 'Accepted: tables grow as needed.' }),
};

const EMPTY: Template = { constant: '', of: () => '' };

/** Variables that depend on others (ngx_http_map_module). */
@httpModule({ name: 'srv_http_map_module', api: 1, directives })
export class MapVariables {
  compileVariables(line: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined {
    const [source, variable] = line.args;
    if (line.name !== 'map' || source === undefined || variable === undefined) return undefined;
    const entries = [...(line.block ?? [])];
    const hasWord = (word: string): boolean => entries.some(({ name, args }) => name === word && args.length === 0);
    const table = new MapTable(hasWord('hostnames'));
    for (const entry of entries) addEntry(table, entry, context);
    const read = lookup(context.template(source.text), table);
    return { [variable.text.slice(1).toLowerCase()]: hasWord('volatile') ? read : oncePerRequest(read) };
  }
}

function lookup(source: Template, table: MapTable): (request: HttpRequest) => string {
  return (request) => (table.find(source.of(request), request) ?? EMPTY).of(request);
}

function addEntry(table: MapTable, entry: Directive, context: DefinitionContext): void {
  const { name, args } = entry;
  const [word, ...more] = args;
  if (word === undefined && (name === 'hostnames' || name === 'volatile')) return;
  if (word === undefined || more.length > 0)
    context.fail('invalid number of the map parameters', entry, 'an entry is written: text value;');
  try {
    const value = context.template(word.text);
    if (name === 'default') {
      if (table.fallback !== undefined) context.fail('duplicate default map parameter', entry);
      table.fallback = value;
    } else if (name.startsWith('~')) table.addPattern({ pattern: patternOf(name), value });
    else if (!table.add(asBytes(name.startsWith('\\') ? name.slice(1) : name), value))
      context.fail(`conflicting parameter "${name}"`, entry);
  } catch (error) {
    if (error instanceof ArgError) context.fail(error.message, entry, error.hint);
    throw error;
  }
}

function patternOf(key: string): RegExp {
  const caseless = key.startsWith('~*');
  return compilePattern(key.slice(caseless ? 2 : 1), caseless);
}

/** What a request has is a string of bytes. */
function asBytes(text: string): string {
  return Buffer.from(text).latin1Slice();
}
