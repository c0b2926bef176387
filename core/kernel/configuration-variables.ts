import { ErrorCollector } from '../config/error-collector.js';
import { messageWithPlace } from '../config/error-report.js';
import { ConfigErrors, configErrorsOf, errorAt } from '../config/errors.js';
import type { Tree, TreeOperation } from '../config/tree.js';
import type { DefinitionContext } from '../contract/manifest.js';
import { ArgError, type AnyArgContext, type ArgContext } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { variablesErrors } from './check-manifest.js';
import { checkedGetter } from './module-variables.js';
import type { RunningModules } from './running-modules.js';
import { mentionsIn, mentionsOf, reservedNames, type Mention, type Mentioning } from './variable-mentions.js';

/** A change as far as variables are concerned. */
interface Changed {
  readonly before: Tree;
  readonly after: Tree;
  readonly operations: readonly TreeOperation[];
}

/**
 * Makes the variables known that a changed configuration defines. They take effect, or are forgotten, with `modules.variables`.
 * @param isNew the modules have seen no configuration yet
 * @returns the directives of the change that concern variables
 * @throws ConfigErrors for names in use
 */
export function beginVariables(
  { before, after, operations }: Changed,
  { registry, variables }: RunningModules,
  isNew: boolean,
): readonly Mention[] {
  const { removed, added } = isNew
    ? { removed: undefined, added: mentionsIn(after.root, 'main', registry) }
    : mentionsOf(before, after, operations, registry);
  const errors = reservedNames(added, (name, engine) => variables.of(engine).mayDefine(name));
  if (errors.length > 0) throw new ConfigErrors(errors);
  variables.begin(removed, added);
  return added;
}

/** Runs a step with the variables that directives define, which are not active. */
export async function withVariablesOf<T>(
  directives: Iterable<Mentioning>,
  { registry, variables }: RunningModules,
  step: (reserved: ReturnType<typeof reservedNames>) => Promise<T>,
): Promise<T> {
  const mentions = mentionsIn(directives, 'main', registry);
  variables.begin(undefined, mentions);
  try {
    return await step(reservedNames(mentions, (name, engine) => variables.of(engine).mayDefine(name)));
  } finally {
    variables.abort();
  }
}

/** Compiles what directives give their variables for values. @throws ConfigErrors */
export function compileVariables(
  mentions: readonly Mention[],
  after: Tree,
  modules: RunningModules,
  warn: (message: string) => void,
): void {
  const errors = new ErrorCollector();
  const byName = new Map(Array.from(modules, (module) => [module.name, module]));
  for (const mention of mentions) {
    const { id, defines, module, assigns, engine } = mention;
    const variables = modules.variables.of(engine);
    const owner = defines.length > 0 && module !== undefined ? byName.get(module) : undefined;
    const directive = after.byId(id);
    if (owner?.hooks.compileVariables === undefined || directive === undefined) continue;
    const getters = errors.attempt(() =>
      compileOf(directive, owner.name, { ...modules.argsOf(engine), warn }, (context) =>
        checkedVariables(owner.hooks.compileVariables?.(directive, context)),
      ),
    );
    for (const [name, getter] of Object.entries(getters ?? {})) {
      const computed = checkedGetter(owner, name, getter);
      if (assigns) variables.bringInitial(id, name, computed);
      else variables.bring(mention, name, computed);
    }
  }
  errors.throwIfAny();
}

/** @throws TypeError for anything else than functions by name, or nothing */
function checkedVariables<T>(variables: T): T {
  // Its rejection is reported by this error.
  if (variables instanceof Promise) variables.catch(() => undefined);
  const [error] = variables instanceof Promise ? [new TypeError('it must return an object of functions')] : variablesErrors(variables);
  if (error !== undefined) throw error;
  return variables;
}

function compileOf<T>(
  directive: Directive,
  module: string,
  { warn, ...args }: AnyArgContext & { readonly warn: (message: string) => void },
  compile: (context: DefinitionContext) => T,
): T {
  const fail = (message: string, place = directive, hint?: string): never => {
    throw errorAt(place, message, undefined, hint);
  };
  const advise = (message: string, place = directive): void => warn(messageWithPlace(errorAt(place, message)));
  try {
    // Its hooks and its directives are for one engine.
    return compile({ ...(args as ArgContext), fail, advise });
  } catch (error) {
    if (error instanceof ArgError) return fail(error.message, directive, error.hint);
    if (configErrorsOf(error) !== undefined) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return fail(`"compileVariables" of module "${module}" failed: ${reason}`);
  }
}
