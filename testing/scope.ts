/** Scopes for unit tests: what `compile` of a module takes, without a configuration. */
import { readFileSync } from 'node:fs';
import { ConfReader } from '../core/config/conf.js';
import { compileTemplate, templateParts } from '../core/config/template.js';
import type { HttpRequest, Scope } from '../core/module/http.js';
import { declarationOf } from '../core/module/manifest.js';
import type { ArgContext, Directives } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';

/** A scope with settings of this type: what `compile` of a module takes that declares them. */
export type FakeScope<C extends object> = Omit<Scope, 'conf' | 'inner'> & { readonly conf: C; inner(block: Directive): FakeScope<C> };

/** The class of a module. */
type ModuleClass = abstract new (...args: never[]) => object;
type CompiledScope<I> = I extends { compile(scope: infer S): unknown }
  ? S
  : I extends { compileServer(scope: infer S): unknown }
    ? S
    : never;
/** What `compile` of a module takes. */
type ScopeOf<M extends ModuleClass> = CompiledScope<InstanceType<M>> extends infer S extends { readonly conf: object } ? S : Scope;

/** Reads arguments as a server does: a variable is what the fake request has for its name. */
const ARGS: ArgContext = {
  template: (text) => compileTemplate(text, variable),
  parts: (text) => templateParts(text, variable),
  path: (text) => text,
};

/**
 * A location for `compile` of a module: directives that `conf` does not have are absent, and have the defaults that the module declares. Every
 * other block has the same ones. `own` is true for those of `conf`, and what `fail` throws is an Error with the message; warnings (`advise`) are
 * dropped.
 */
export function fakeScope<M extends ModuleClass>(module: M, conf?: Partial<ScopeOf<M>['conf']>): ScopeOf<M>;
/** A location with these settings and no others. */
export function fakeScope<C extends object>(conf: C): FakeScope<C>;
export function fakeScope(first: object, second: object = {}): FakeScope<object> {
  if (typeof first !== 'function') return scopeWith(first, first);
  const { manifest } = declarationOf(first) ?? {};
  return scopeWith({ ...defaultsOf(manifest?.directives ?? {}), ...second }, second);
}

/** @param own what stands in the block itself */
function scopeWith(conf: object, own: object): FakeScope<object> {
  return {
    kind: 'location',
    conf,
    directive: undefined,
    parent: undefined,
    args: ARGS,
    own: (name) => name in own,
    lines: (): readonly Directive[] => [],
    fail: (message): never => {
      throw new Error(message);
    },
    advise: () => undefined,
    inner: () => scopeWith(conf, own),
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

/** The values of directives that stand nowhere. */
function defaultsOf(directives: Directives): object {
  const conf = new ConfReader(directives).read({ context: 'location', block: undefined }, undefined, ARGS);
  return Object.fromEntries(Object.keys(directives).map((name) => [name, conf[name]]));
}

function variable(name: string): (request: HttpRequest) => string | undefined {
  return (request) => request.variable(name);
}
