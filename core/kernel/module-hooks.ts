import type { ModuleHooks } from '../config/modules-in-force.js';
import type { LimitedCall } from './call-limit.js';

/** The hooks of an object, each of them called through `limit`. */
export function limitedHooks(instance: ModuleHooks, limit: LimitedCall): ModuleHooks {
  const limited =
    <A extends readonly unknown[], R>(method: (...args: A) => R) =>
    (...args: A): R =>
      limit(() => method.apply(instance, args as never));
  const { start, handOver, stop, compile, compileServer, compileTls, compileVariables, balancer, affinity, health, members } = instance;
  return {
    ...(start && { start: limited(start) }),
    ...(handOver && { handOver: limited(handOver) }),
    ...(stop && { stop: limited(stop) }),
    ...(compile && { compile: limited(compile) }),
    ...(compileServer && { compileServer: limited(compileServer) }),
    ...(compileTls && { compileTls: limited(compileTls) }),
    ...(compileVariables && { compileVariables: limited(compileVariables) }),
    ...(balancer && { balancer: limited(balancer) }),
    ...(affinity && { affinity: limited(affinity) }),
    ...(health && { health: limited(health) }),
    ...(members && { members: limited(members) }),
  };
}
