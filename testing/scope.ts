/** Scopes for unit tests: what `compile` of a module takes, without a configuration. */
import { readFileSync } from 'node:fs';
import { ConfReader } from '../core/config/conf.js';
import { compileTemplate, templateParts } from '../core/config/template.js';
import type { HttpRequest, Scope } from '../core/contract/http.js';
import { declarationOf } from '../core/contract/manifest.js';
import type { ArgContext, Directives } from '../core/contract/spec.js';
import type { Directive } from '../core/contract/tree.js';

/** A scope with settings of this type: what `compile` of a module takes that declares them. */
export type FakeScope<C extends object> = Omit<Scope, 'conf' | 'inner'> & { readonly conf: C; inner(block: Directive): FakeScope<C> };

/** The class of a module. */
type ModuleClass = abstract new (...args: never[]) => object;
type CompiledScope<I> = I extends { compile(scope: infer S): unknown }
  ? S
  : I extends { compileServer(scope: infer S): unknown }
    ? S
    : never;
/** Argument of a module's `compile`. */
type ScopeOf<M extends ModuleClass> = CompiledScope<InstanceType<M>> extends infer S extends { readonly conf: object } ? S : Scope;

/** Reads arguments as a server does: a variable is what the fake request has for its name. */
const ARGS: ArgContext = {
  template: (text) => compileTemplate(text, variable),
  parts: (text) => templateParts(text, variable),
  path: (text) => text,
};

/**
 * A location for `compile` of a module: directives that `conf` does not have are absent, and have the defaults that the module declares. Every
 * other block has the same ones. `own` is true for directives of `conf`, and `fail` throws an Error with the message; warnings (`advise`) are
 * dropped.
 * @param signal that of the scope, for a test that ends it; without it it stays active
 */
export function fakeScope<M extends ModuleClass>(module: M, conf?: Partial<ScopeOf<M>['conf']>, signal?: AbortSignal): ScopeOf<M>;
/** A location with these settings and no others. */
export function fakeScope<C extends object>(conf: C): FakeScope<C>;
export function fakeScope(first: object, second: object = {}, signal = new AbortController().signal): FakeScope<object> {
  if (typeof first !== 'function') return scopeWith(first, first, signal);
  const { manifest } = declarationOf(first) ?? {};
  return scopeWith({ ...defaultsOf(manifest?.directives ?? {}), ...second }, second, signal);
}

/** @param own what is in the block itself */
function scopeWith(conf: object, own: object, signal: AbortSignal): FakeScope<object> {
  return {
    kind: 'location',
    conf,
    directive: undefined,
    parent: undefined,
    args: ARGS,
    signal,
    own: (name) => name in own,
    lines: (): readonly Directive[] => [],
    fail: (message): never => {
      throw new Error(message);
    },
    advise: () => undefined,
    inner: () => scopeWith(conf, own, signal),
    file: (path, parse) => {
      const bytes = readFileSync(path);
      const fail = (line: number, message: string): never => {
        throw new Error(`${message} in ${path}:${line}`);
      };
      return parse({ path, bytes, text: bytes.toString(), fail, each: (items, step) => Array.from(items, step) });
    },
    register: () => undefined,
    each: (items, step) => Array.from(items, step),
  };
}

/** The values of absent directives. */
function defaultsOf(directives: Directives): object {
  const conf = new ConfReader(directives).read({ context: 'location', block: undefined }, undefined, ARGS);
  return Object.fromEntries(Object.keys(directives).map((name) => [name, conf[name]]));
}

function variable(name: string): (request: HttpRequest) => string | undefined {
  return (request) => request.variable(name);
}
