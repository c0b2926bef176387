import { ownDirectives, type ConfReader } from '../config/conf.js';
import { configErrorsOf, errorAt } from '../config/errors.js';
import type { Change } from '../config/change.js';
import type { UpstreamScope } from '../contract/balancer.js';
import type { HttpModule } from '../contract/manifest.js';
import type { Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { UpstreamEngine } from './upstream-engine.js';

/** An `upstream` block as a module is shown it. @param reader of the module's directives @param line that it is asked for, or the block */
export function scopeOf(
  block: Directive,
  reader: ConfReader<Directives>,
  modules: Change['modules'],
  { name: engine, context }: UpstreamEngine,
  line = block,
): UpstreamScope {
  const conf = reader.read({ context, block: block.block }, undefined, modules.argsOf(engine));
  return { name: block.args[0]?.text ?? '', engine, conf, directive: block, fail: failAt(block, line) };
}

/** Calls a hook of a module. Exceptions other than errors of the configuration become an error of the block. @throws ConfigError */
export function called<T>(hook: keyof HttpModule, module: string, scope: UpstreamScope, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (configErrorsOf(error)) throw error;
    throw errorAt(scope.directive, `"${hook}" of module "${module}" failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const failAt =
  (block: Directive, asked: Directive): UpstreamScope['fail'] =>
  (message, place, hint) => {
    const line = place === undefined || place === asked.name ? asked : ownDirectives(block.block!, place)[0];
    throw errorAt(line ?? asked, message, undefined, hint);
  };
