import { ConfReader, ownDirectives } from '../config/conf.js';
import type { Change, Follower, Prepared } from '../config/change.js';
import { ErrorCollector } from '../config/error-collector.js';
import { errorAt } from '../config/errors.js';
import type { ModuleInForce } from '../config/modules-in-force.js';
import type { Tree } from '../config/tree.js';
import type { MainScope } from '../contract/manifest.js';
import type { Resource } from '../contract/resource.js';
import type { Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { NO_LIMITS } from '../config/holdings.js';
import { inputFile } from '../config/input-file.js';
import type { InputFiles } from '../config/input-files.js';
import { systemErrorText } from '../contract/system-error.js';

/** The modules that compile directives of the main level themselves. */
export class MainScopes implements Follower {
  /** Objects that have compiled the current configuration. */
  #compiled: ReadonlySet<object> = new Set();

  constructor(private readonly files: InputFiles) {}

  prepare(change: Change): Prepared {
    const modules = [...change.modules].filter(({ hooks }) => hooks.compileMain !== undefined);
    const errors = new ErrorCollector();
    const opened: { readonly module: ModuleInForce; readonly resource: Resource }[] = [];
    for (const module of modules) {
      if (this.#compiled.has(module.instance) && !isConcerned(module, change)) continue;
      const resource = errors.attempt(() => module.hooks.compileMain?.(mainScope(module, change, this.files)));
      if (resource !== undefined) opened.push({ module, resource });
    }
    const each = (step: 'commit' | 'abort'): void => {
      for (const { module, resource } of opened) (module.resourceLimits ?? NO_LIMITS).call(() => resource[step]?.());
    };
    if (!errors.isEmpty) each('abort');
    errors.throwIfAny();
    return {
      commit: () => {
        this.#compiled = new Set(modules.map(({ instance }) => instance));
        each('commit');
      },
      abort: () => each('abort'),
    };
  }
}

const directivesOf = ({ declaration }: ModuleInForce): Directives => declaration.manifest.directives ?? {};

/** Directives are immutable: one that has changed is another object. */
function isConcerned(module: ModuleInForce, { before, after, rereads }: Change): boolean {
  if (rereads) return true;
  return Object.entries(directivesOf(module)).some(([key, { name = key }]) => {
    const [old, current] = [linesOf(before, name), linesOf(after, name)];
    return old.length !== current.length || old.some((line, at) => line !== current[at]);
  });
}

const linesOf = ({ root }: Tree, name: string): readonly Directive[] => ownDirectives(root, name);

function mainScope(module: ModuleInForce, { after, modules }: Change, files: InputFiles): MainScope<Directives> {
  const fail = (message: string, place?: string | Directive, hint?: string): never => {
    const line = typeof place === 'string' ? linesOf(after, place)[0] : place;
    if (line === undefined) throw new Error(message);
    throw errorAt(line, message, undefined, hint);
  };
  return {
    conf: new ConfReader(directivesOf(module)).read({ context: 'main', block: after.root }, undefined, modules.args),
    lines: (name) => linesOf(after, name),
    file: (path, parse, place, message) => {
      try {
        return parse(inputFile(path, files.read(path)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
        const reason = systemErrorText(error);
        return fail(message?.(reason) ?? `open() "${path}" failed (${reason})`, place);
      }
    },
    fail,
    each: (items, step) => {
      const errors = new ErrorCollector();
      const results = Array.from(items, (item) => errors.attempt(() => step(item)));
      errors.throwIfAny();
      return results.filter((result) => result !== undefined);
    },
  };
}
