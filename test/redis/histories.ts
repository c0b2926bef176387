/** Calls of clients with their outcomes, and whether one order of all of them explains these. */

/**
 * A compare-and-set: replaces one state by another one, each of which only one call writes. Times are milliseconds of one clock.
 */
export interface Swap {
  /** State that has to be there, as its caller has read it; undefined: none. */
  readonly from: string | undefined;
  /** State that it writes. */
  readonly to: string;
  readonly began: number;
  readonly ended: number;
  /** `unknown`: it may have been made, and if so, at any time after it began. */
  readonly outcome: 'made' | 'rejected' | 'unknown';
  /** Shown with a fault. */
  readonly response?: string;
}

/**
 * Faults of a history of one key; none: it is linearizable. Each state is written once, so that there is only one order to look at: the calls that lead from
 * the beginning to the last state, each from the state that the one before it has written. Every call that was made has to be in it, no call that was
 * rejected may be, and none may come after one that began when it had ended.
 * @param last state after all calls; undefined: none
 */
export function historyFaults(history: readonly Swap[], last: string | undefined): string[] {
  const { order, faults } = orderOf(history, last);
  const places = new Set(order);
  for (const swap of order) if (swap.outcome === 'rejected') faults.push(`${shown(swap)} was rejected, but is made`);
  for (const swap of history) if (swap.outcome === 'made' && !places.has(swap)) faults.push(`${shown(swap)} was made, but is lost`);
  let latest: Swap | undefined;
  for (const swap of order) {
    if (latest !== undefined && swap.outcome === 'made' && swap.ended < latest.began)
      faults.push(`${shown(swap)} had ended before ${shown(latest)} began, but comes after it`);
    if (latest === undefined || swap.began > latest.began) latest = swap;
  }
  return faults;
}

/** The calls that lead to a state, the first one first. */
function orderOf(history: readonly Swap[], last: string | undefined): { readonly order: readonly Swap[]; readonly faults: string[] } {
  const writers = new Map<string, Swap>();
  for (const swap of history) {
    if (writers.has(swap.to)) throw new Error(`two calls write "${swap.to}"`);
    writers.set(swap.to, swap);
  }
  const order: Swap[] = [];
  for (let state = last; state !== undefined;) {
    const writer = writers.get(state);
    if (writer === undefined) return { order: order.toReversed(), faults: [`"${state}" was written by no call`] };
    writers.delete(state);
    order.push(writer);
    state = writer.from;
  }
  return { order: order.toReversed(), faults: [] };
}

const shown = ({ from = '', to, response }: Swap): string => `"${from}" → "${to}"${response === undefined ? '' : ` (${response})`}`;
