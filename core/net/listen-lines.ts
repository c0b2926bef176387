import { ErrorCollector } from '../config/error-collector.js';
import { errorAt } from '../config/errors.js';
import { ArgError } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ListenOptions } from './listen-options.js';

/**
 * Values of the `listen` lines of a server, whose words were checked with the tree.
 * @param parse reads the words of a line
 * @throws ConfigErrors for duplicate addresses, and for contradictory words
 */
export function listenOptions(lines: readonly Directive[], parse: (words: readonly string[]) => readonly ListenOptions[]): ListenOptions[] {
  const listens = new Map<string, ListenOptions>();
  const errors = new ErrorCollector();
  for (const line of lines) {
    for (const options of errors.attempt(() => parsed(line, parse)) ?? []) {
      if (listens.has(options.address)) errors.add(errorAt(line, `a duplicate listen ${options.address}`, line.args[0]));
      else listens.set(options.address, { ...options, line });
    }
  }
  errors.throwIfAny();
  return [...listens.values()];
}

function parsed(line: Directive, parse: (words: readonly string[]) => readonly ListenOptions[]): readonly ListenOptions[] {
  try {
    return parse(line.args.map((word) => word.text));
  } catch (error) {
    if (error instanceof ArgError) throw errorAt(line, error.message, undefined, error.hint);
    throw error;
  }
}
