import type { BalancingMethod } from '../../contract/balancer.js';
import { KetamaHash } from './ketama.js';
import { ModuloHash, type KeyOf } from './modulo.js';

/** `hash KEY [consistent]`. */
export function hashMethod(keyOf: KeyOf, consistent: boolean): BalancingMethod {
  return {
    backup: false,
    slowStart: false,
    byRequest: true,
    create: (upstream) => (consistent ? new KetamaHash(keyOf) : new ModuloHash(upstream, keyOf)),
  };
}
