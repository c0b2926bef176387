import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Which processor cores the parts of a measurement run on, as numbers that taskset takes. */
export interface CorePlan {
  readonly all: readonly number[];
  /** The server under test. */
  readonly server: readonly number[];
  readonly backend: readonly number[];
  /** The load generator, and the benchmark itself. */
  readonly load: readonly number[];
}

/** The cores that this process may use. */
export function usableCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  if (list === undefined) return Array.from({ length: availableParallelism() }, (_, core) => core);
  return parseCoreList(list);
}

/** The kernel's list format: `0-3,8` is 0 1 2 3 8. */
export function parseCoreList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/**
 * Gives the server under test `serverCores` cores of its own and divides the rest between backend and load. With fewer than
 * three cores the parts have to share.
 */
export function planCores(all: readonly number[], serverCores = 1): CorePlan {
  const server = all.slice(0, serverCores);
  const rest = all.slice(serverCores);
  if (rest.length === 0) return { all, server, backend: server, load: server };
  if (rest.length === 1 || serverCores > 1) return { all, server, backend: rest, load: rest };
  return { all, server, backend: rest.slice(0, 1), load: rest.slice(1, 5) };
}

/** One sentence for the report. */
export function describeCores(plan: CorePlan): string {
  if (plan.all.length === 1) return 'one core only: server, load and backend share it, so requests per second say nothing';
  if (plan.all.length === 2) return 'two cores only: one for the server under test, load and backend share the other';
  return `one core for the server under test, one for the backend, ${plan.load.length} for the load`;
}
