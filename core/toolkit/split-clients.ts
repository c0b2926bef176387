/** The directive `split_clients`, for the modules of every traffic engine that has it: variables that split clients into groups of given sizes. */
import type { DefinitionContext } from '../contract/manifest.js';
import { definedVariable, definingBlock } from './defining-block.js';
import { murmurHash2 } from './murmur-hash2.js';
import { oncePerRequest } from './once-per-request.js';
import type { RequestState } from './request-state.js';
import { directive } from '../contract/spec.js';
import type { Getter, EngineTemplate } from '../contract/template.js';
import type { Directive } from '../contract/tree.js';

/** @param engine the block of the traffic engine */
export function splitClientsDirectives<const E extends string>(engine: E) {
  return {
    split_clients: directive({
      ...definingBlock(engine),
      defines: definedVariable,
      doc: 'Defines a variable for A/B tests: a hash of the text chooses one of the values. Entries of the block are percentages with at most two decimals, 100 in all at the most, and values; * is for the rest (without it empty).',
    }),
  };
}

/** Percentages are counted in hundredths. */
const WHOLE = 10_000;
/** The largest hash. */
const LARGEST = 0xffffffff;

/** One value, and the hash from which on it is not chosen any more. */
interface Part {
  readonly below: number;
  readonly value: string;
}

/** The variable of a `split_clients`; undefined for any other directive. An invalid entry rejects the configuration there. */
export function splitClientsVariables<R extends RequestState>(
  line: Directive,
  context: DefinitionContext<R>,
): Readonly<Record<string, Getter<R>>> | undefined {
  const [source, variable] = line.args;
  if (line.name !== 'split_clients' || source === undefined || variable === undefined) return undefined;
  const read = choice(context.template(source.text), parts(line.block ?? [], context));
  return { [variable.text.slice(1).toLowerCase()]: oncePerRequest(read) };
}

function choice<R>(source: EngineTemplate<R>, all: readonly Part[]): (request: R) => string {
  return (request) => {
    const hash = murmurHash2(source.of(request));
    return all.find(({ below }) => hash < below)?.value ?? '';
  };
}

function parts(entries: Iterable<Directive>, context: DefinitionContext<never>): readonly Part[] {
  let sum = 0;
  return Array.from(entries, (entry) => {
    const { name, args } = entry;
    const [word, ...more] = args;
    if (word === undefined || more.length > 0)
      context.fail('invalid number of arguments in "split_clients" directive', entry, 'an entry is written: 10% value;');
    const share = name === '*' ? WHOLE : hundredths(name);
    if (share === undefined) return context.fail(`invalid percent value "${name}"`, entry, 'a percentage is written 0.01% to 100%');
    sum = name === '*' ? WHOLE : sum + share;
    if (sum > WHOLE) context.fail('percent total is greater than 100%', entry);
    return { below: name === '*' ? Infinity : Math.floor((sum * LARGEST) / WHOLE), value: Buffer.from(word.text).latin1Slice() };
  });
}

/** `0.5%` is 50. Undefined: it is not a percentage. */
function hundredths(text: string): number | undefined {
  const [, whole = '', digits = ''] = /^(\d{0,4})(?:\.(\d{0,2}))?%$/.exec(text) ?? [];
  const share = Number(whole) * 100 + Number(digits.padEnd(2, '0'));
  return share > 0 ? share : undefined;
}
