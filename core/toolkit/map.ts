/** The directive `map`, for the modules of every traffic engine that has it: variables that depend on other texts. */
import { size } from '../contract/args.js';
import type { DefinitionContext } from '../contract/manifest.js';
import { definedVariable, definingBlock } from './defining-block.js';
import { MapTable } from './map-table.js';
import { oncePerRequest } from './once-per-request.js';
import { compilePattern, namedGroups } from './pattern.js';
import type { RequestState } from './request-state.js';
import { ArgError, directive } from '../contract/spec.js';
import type { Getter, EngineTemplate } from '../contract/template.js';
import type { Directive } from '../contract/tree.js';

/** @param engine the block of the traffic engine */
export function mapDirectives<const E extends string>(engine: E) {
  const accepted = directive({ in: [engine], args: size(), inherit: 'none', doc: 'Accepted: tables grow as needed.' });
  return {
    map: directive({
      ...definingBlock(engine),
      defines: (line) => [...definedVariable(line), ...Array.from(line.block ?? [], ({ name }) => namedGroups(name)).flat()],
      doc: 'Defines a variable whose value depends on another text. Entries of the block are exact strings, with hostnames masks such as *.example.org, or regular expressions (~ and ~* in front), and values, which may have variables; default is the value where none matches (without it empty), include reads entries from a file, volatile evaluates the value at each use.',
    }),
    map_hash_max_size: accepted,
    map_hash_bucket_size: accepted,
  };
}

/** The variable of a `map`; undefined for any other directive. An invalid entry rejects the configuration there. */
export function mapVariables<R extends RequestState>(
  line: Directive,
  context: DefinitionContext<R>,
): Readonly<Record<string, Getter<R>>> | undefined {
  const [source, variable] = line.args;
  if (line.name !== 'map' || source === undefined || variable === undefined) return undefined;
  const entries = [...(line.block ?? [])];
  const hasWord = (word: string): boolean => entries.some(({ name, args }) => name === word && args.length === 0);
  const table = new MapTable<R>(hasWord('hostnames'));
  for (const entry of entries) addEntry(table, entry, context);
  const read = lookup(context.template(source.text), table);
  return { [variable.text.slice(1).toLowerCase()]: hasWord('volatile') ? read : oncePerRequest(read) };
}

function lookup<R extends RequestState>(source: EngineTemplate<R>, table: MapTable<R>): (request: R) => string {
  return (request) => table.find(source.of(request), request)?.of(request) ?? '';
}

function addEntry<R extends RequestState>(table: MapTable<R>, entry: Directive, context: DefinitionContext<R>): void {
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

/** Values of requests are strings of bytes. */
function asBytes(text: string): string {
  return Buffer.from(text).latin1Slice();
}
