import { messageWithPlace } from '../config/error-report.js';
import { byPosition, ConfigError, ConfigErrors } from '../config/errors.js';
import { ownDirective } from '../config/conf.js';
import { ConfigTree, type IdSource } from '../config/tree.js';
import type { Parsed } from '../config/parser.js';
import { check } from '../config/validate.js';
import { defineCaptureVariables } from '../http/capture-variables.js';
import { furtherMistakes } from './further-mistakes.js';
import type { Instance } from './instance.js';
import { readConfiguration, type ConfigurationSource } from './read-configuration.js';
import type { RunningModules } from './running-modules.js';
import { isUnknownDirective, withHints } from './shipped-modules.js';

/** An empty file, or one that was given by mistake, is no configuration: with it a reload would drop everything that is served. */
const NO_EVENTS = new ConfigError('no "events" section in configuration', undefined, 1, 'add "events { }"');

/** A configuration as it stands in the file, with the modules it asks for. */
export interface Configuration {
  readonly tree: ConfigTree;
  readonly modules: RunningModules;
  /** Every file that was read, in order. */
  readonly files: readonly string[];
}

/**
 * Reads a configuration, loads its modules and checks every directive.
 * @throws ConfigErrors with all mistakes, in the order of the text
 */
export function checkConfiguration(source: ConfigurationSource, ids: IdSource, instance: Instance): Promise<Configuration> {
  return checkParsed(readConfiguration(source, ids), instance);
}

/** As {@link checkConfiguration}, for one that was read already. */
export async function checkParsed(parsed: Parsed, instance: Instance): Promise<Configuration> {
  const tree = ConfigTree.fromData(parsed.directives);
  const { modules, errors } = await instance.modulesFor(tree);
  const { registry, args, set, variables } = modules;
  const captures = defineCaptureVariables(parsed.directives, variables);
  const found = await withHints(
    () => check(parsed, { registry, args, warn: (warning) => instance.warn(messageWithPlace(warning)) }),
    set,
    instance.options.installation,
  );
  // Where a module is missing, that its directives are unknown says nothing new.
  const mistakes = [...errors, ...captures, ...(errors.length === 0 ? found : found.filter((mistake) => !isUnknownDirective(mistake)))];
  // Where the text itself is broken it may have been lost.
  if (parsed.errors.length === 0 && !ownDirective(tree.root, 'events')) mistakes.push(NO_EVENTS);
  if (mistakes.length > 0) {
    const further = await furtherMistakes(parsed, mistakes, instance.options);
    throw new ConfigErrors([...mistakes, ...further].toSorted(byPosition));
  }
  return { tree, modules, files: parsed.files };
}
