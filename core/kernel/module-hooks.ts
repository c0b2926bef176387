import type { HttpModule, Lifecycle } from '../module/manifest.js';
import type { LimitedCall } from './call-limit.js';

/** The methods of a module's object that the server calls. */
export type ModuleHooks = Pick<
  HttpModule & Lifecycle,
  'start' | 'stop' | 'compile' | 'compileServer' | 'compileTls' | 'compileVariables' | 'balancer' | 'affinity' | 'health'
>;

/** The hooks of an object, each of them called through `limit`. */
export function limitedHooks(instance: ModuleHooks, limit: LimitedCall): ModuleHooks {
  const limited =
    <A extends readonly unknown[], R>(method: (...args: A) => R) =>
    (...args: A): R =>
      limit(() => method.apply(instance, args as never));
  const { start, stop, compile, compileServer, compileTls, compileVariables, balancer, affinity, health } = instance;
  return {
    ...(start && { start: limited(start) }),
    ...(stop && { stop: limited(stop) }),
    ...(compile && { compile: limited(compile) }),
    ...(compileServer && { compileServer: limited(compileServer) }),
    ...(compileTls && { compileTls: limited(compileTls) }),
    ...(compileVariables && { compileVariables: limited(compileVariables) }),
    ...(balancer && { balancer: limited(balancer) }),
    ...(affinity && { affinity: limited(affinity) }),
    ...(health && { health: limited(health) }),
  };
}
