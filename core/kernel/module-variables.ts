import { inspect } from 'node:util';
import type { HttpVariables } from '../http/site/variables.js';
import type { HttpRequest, VariableGetter } from '../module/http.js';
import { variablesErrors } from './check-manifest.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import type { RunningModule } from './running-module.js';

/** Makes the variables of modules known, and remembers whose they are. */
export class VariableDefiner {
  readonly #owners = new Map<string, string>();

  constructor(private readonly variables: HttpVariables) {}

  /** @returns what keeps some of them from being defined */
  *define(owner: RunningModule): ManifestErrors {
    const { name: module, declaration, instance } = owner;
    const { variables, variablePrefixes } = instance;
    yield* variablesErrors(variables);
    yield* variablesErrors(variablePrefixes);
    for (const [name, getter] of Object.entries({ ...declaration.manifest.variables, ...variables })) {
      yield* this.#attempt(module, name, () => this.variables.define(name, checkedGetter(owner, name, getter)));
    }
    for (const [prefix, make] of Object.entries(variablePrefixes ?? {})) {
      yield* this.#attempt(module, prefix, () =>
        this.variables.definePrefix(prefix, (rest) => checkedGetter(owner, prefix + rest, make(rest))),
      );
    }
  }

  *#attempt(module: string, name: string, define: () => void): ManifestErrors {
    try {
      define();
      this.#owners.set(name, module);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const owner = this.#owners.get(name);
      yield new ManifestError(
        error.message,
        `choose another name: ${owner === undefined ? 'srv' : `"${owner}"`} has a variable of this one`,
      );
    }
  }
}

/** A getter whose value is checked: nobody else looks at the types of a module that is written in JavaScript. */
export function checkedGetter({ name: module, isShipped }: RunningModule, name: string, getter: VariableGetter): VariableGetter {
  if (isShipped) return getter;
  return (request: HttpRequest) => {
    const value: unknown = getter(request);
    if (value === undefined || typeof value === 'string') return value;
    // Its rejection is told by this error.
    if (value instanceof Promise) value.catch(() => undefined);
    throw new TypeError(`variable "${name}" of module "${module}" must be a string or undefined, not ${inspect(value, { depth: 0 })}`);
  };
}
