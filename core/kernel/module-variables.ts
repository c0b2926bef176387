import { inspect } from 'node:util';
import type { Getter, GetterFamily } from '../contract/template.js';
import type { EngineVariables } from './engine-variables.js';
import type { EngineName } from '../contract/spec.js';
import { variablesErrors } from './check-manifest.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import type { RunningModule } from './running-module.js';
import { VariableFailure } from '../contract/template.js';

/** Makes the variables of modules known, and remembers whose they are. */
export class VariableDefiner {
  /** By engine and name. */
  readonly #owners = new Map<string, string>();

  constructor(private readonly variables: EngineVariables) {}

  /** @returns what keeps some of them from being defined */
  *define(owner: RunningModule): ManifestErrors {
    const { name: module, declaration, instance } = owner;
    const { variables, variablePrefixes } = instance;
    const engine = declaration.kind === 'stream' ? 'stream' : 'http';
    const known = this.variables.of(engine);
    yield* variablesErrors(variables);
    yield* variablesErrors(variablePrefixes);
    for (const [name, getter] of Object.entries({ ...declaration.manifest.variables, ...variables })) {
      yield* this.#attempt(module, engine, name, () => known.define(name, checkedGetter(owner, name, getter)));
    }
    for (const [prefix, make] of Object.entries<GetterFamily<never>>(variablePrefixes ?? {})) {
      yield* this.#attempt(module, engine, prefix, () =>
        known.definePrefix(prefix, (rest) => checkedGetter(owner, prefix + rest, make(rest))),
      );
    }
  }

  *#attempt(module: string, engine: EngineName, name: string, define: () => void): ManifestErrors {
    const key = `${engine} ${name}`;
    try {
      define();
      this.#owners.set(key, module);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const owner = this.#owners.get(key);
      yield new ManifestError(
        error.message,
        `choose another name: ${owner === undefined ? 'srv' : `"${owner}"`} has a variable of this one`,
      );
    }
  }
}

/** A getter whose value is checked: the types of a module written in JavaScript are not checked elsewhere. */
export function checkedGetter<R>({ name: module, isShipped }: RunningModule, name: string, getter: Getter<R>): Getter<R> {
  if (isShipped) return getter;
  return (request) => {
    let value: unknown;
    try {
      value = getter(request);
    } catch (error) {
      throw new VariableFailure(name, module, error);
    }
    if (value === undefined || typeof value === 'string') return value;
    // Its rejection is reported by this error.
    if (value instanceof Promise) value.catch(() => undefined);
    throw new TypeError(`variable "${name}" of module "${module}" must be a string or undefined, not ${inspect(value, { depth: 0 })}`);
  };
}
