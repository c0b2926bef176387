import type { BalancingMethod } from '../module/balancer.js';
import { Order } from './layout.js';

/** What members are chosen by where the balancer of a method does not say. @param method undefined: round robin */
export function orderFor(method: BalancingMethod | undefined): Order {
  switch (method?.order) {
    case undefined:
    case 'turns':
      return Order.turns;
    case 'load':
      return Order.load;
    case 'connect_time':
      return method.inflight === true ? Order.connectInflight : Order.connectTime;
    case 'header_time':
      return method.inflight === true ? Order.headerInflight : Order.headerTime;
    case 'response_time':
      return method.inflight === true ? Order.responseInflight : Order.responseTime;
  }
}
