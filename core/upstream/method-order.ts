import type { BalancingMethod } from '../contract/balancer.js';
import { Order } from './layout.js';

export const ORDERS: readonly NonNullable<BalancingMethod['order']>[] = ['turns', 'load', 'connect_time', 'header_time', 'response_time'];

/** Modules in JavaScript may say anything. */
export function isOrder(order: string): boolean {
  return ORDERS.some((known) => known === order);
}

/** Order of members if the balancer of a method does not choose. @param method undefined: round robin */
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
