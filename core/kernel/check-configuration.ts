import { messageWithPlace } from '../config/error-report.js';
import { byPosition, ConfigError, ConfigErrors } from '../config/errors.js';
import { ConfigTree, type DirectiveData, type IdSource } from '../config/tree.js';
import type { ParsedText } from '../config/parser.js';
import { check } from '../config/validate.js';
import { backupsAlone } from '../upstream/assert-servers.js';
import { withVariablesOf } from './configuration-variables.js';
import type { Instance, RunningModulesLoad } from './instance.js';
import { readConfiguration, type ConfigurationSource } from './read-configuration.js';
import type { RunningModules } from './running-modules.js';
import { withHints } from './shipped-modules.js';

/** An empty file, or the wrong one, is rejected: with it a reload would drop everything that is served. */
const NO_EVENTS = new ConfigError('no "events" section in configuration', undefined, 1, 'add "events { }"');

/** A configuration as the file has it, with the modules it asks for. */
export interface Configuration {
  readonly tree: ConfigTree;
  readonly modules: RunningModules;
  /** Every file that was read, in order. */
  readonly files: readonly string[];
}

/**
 * Reads a configuration, loads its modules and checks every directive by its spec. Errors that only show when it is compiled are reported
 * then: a text with errors is not compiled.
 * @throws ConfigErrors with all errors, in the order of the text
 */
export function checkConfiguration(source: ConfigurationSource, ids: IdSource, instance: Instance): Promise<Configuration> {
  return checkParsed(readConfiguration(source, ids), instance);
}

/** As {@link checkConfiguration}, for one that was read already. */
export async function checkParsed(parsed: ParsedText, instance: Instance): Promise<Configuration> {
  try {
    return await checked(parsed, instance);
  } catch (error) {
    instance.discardLoaded();
    throw error;
  }
}

async function checked(parsed: ParsedText, instance: Instance): Promise<Configuration> {
  const tree = ConfigTree.fromData(parsed.directives);
  const load = await instance.modulesFor(tree, instance.planFor(tree));
  const { modules, errors } = load;
  const found = await withVariablesOf(parsed.directives, modules, async (reserved) => [
    ...errors,
    ...reserved,
    ...(await directiveErrors(parsed, load, instance)),
    ...backupsAlone(tree),
  ]);
  // Where the text itself is broken it may have been lost.
  if (parsed.errors.length === 0 && !parsed.directives.some(hasEvents)) found.push(NO_EVENTS);
  if (found.length > 0) throw new ConfigErrors(found.toSorted(byPosition));
  return { tree, modules, files: parsed.files };
}

/** Errors of the directives by their specs. Valid but probably unintended settings produce warnings. */
async function directiveErrors(parsed: ParsedText, { modules, errors }: RunningModulesLoad, instance: Instance): Promise<ConfigError[]> {
  const { registry, args, streamArgs, set } = modules;
  let warnings: string[] = [];
  const unchecked = new Set<string>();
  const options = {
    registry,
    args,
    streamArgs,
    warn: (warning: ConfigError) => warnings.push(messageWithPlace(warning)),
    ...(errors.length > 0 && { unchecked: (name: string) => unchecked.add(`"${name}"`) }),
  };
  const look = (): ConfigError[] => {
    // A second look warns of the same again.
    warnings = [];
    return check(parsed, options);
  };
  const found = await withHints(look, set, instance.options.installation);
  if (unchecked.size > 0) warnings.push(`not checked, because a module that may have them is missing: ${[...unchecked].join(', ')}`);
  for (const warning of warnings) instance.warn(warning);
  return found;
}

/** True for the section, and for a directive that took it in because the `;` before it is missing. */
function hasEvents({ name, args, block }: DirectiveData): boolean {
  return name === 'events' || (block !== undefined && args.at(-1)?.text === 'events');
}
