import type { SpecRegistry } from '../config/registry.js';
import type { ContextName } from '../contract/spec.js';
import type { Block } from '../contract/tree.js';

/** Names of the modules whose directives are in a configuration, in their order. */
export function usedModules(root: Block, registry: SpecRegistry): readonly string[] {
  const names = new Set<string>();
  const visit = (block: Block, context: ContextName): void => {
    for (const { name, block: inner } of block) {
      const module = registry.find(context, name)?.module;
      if (module !== undefined) names.add(module);
      const within = inner && registry.contextInside(context, name);
      if (inner !== undefined && within !== undefined) visit(inner, within);
    }
  };
  visit(root, 'main');
  return [...names].toSorted();
}

/** @param modules of another node @throws Error when some of them are not loaded here: changes that they would understand would be lost */
export function assertLoaded(modules: readonly string[], registry: SpecRegistry): void {
  const missing = modules.filter((name) => !registry.hasModule(name));
  if (missing.length === 0) return;
  const names = missing.map((name) => `"${name}"`).join(', ');
  throw new Error(`the other nodes use modules that this one has not loaded: ${names}; load them, or upgrade srv`);
}
