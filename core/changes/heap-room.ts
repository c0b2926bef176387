import { totalmem } from 'node:os';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import { ApiError } from '../contract/control.js';

/** A worker's heap may take half of the machine's memory, but no more than V8 works well with. */
const MOST = 4096 * 1024 * 1024;
/** Memory of a worker without any configuration, in bytes, with room for its requests. */
const BASE = 24 * 1024 * 1024;
/** Memory of a directive in the tree of a worker, and as much again while it takes effect. Measured with `server` lines, rounded up. */
const DIRECTIVE = 700;

/** Bytes of heap that a worker gets. @param configured what `worker_heap_size` says */
export function workerHeapSize(configured: number | undefined): number {
  return configured ?? Math.min(totalmem() / 2, MOST);
}

/**
 * Rejects a change that would make every worker run out of memory, one replacement after the other: it could not even be reverted. A change
 * that does not enlarge the configuration is always accepted.
 *
 * @param before an empty tree at a start
 * @param heapSize bytes that each worker has
 * @throws ApiError 507 HeapFull
 */
export function assertHeapRoom(before: ConfigTree, after: ConfigTree, operations: readonly TreeOperation[], heapSize: number): void {
  if (after.size <= before.size) return;
  const need = BASE + DIRECTIVE * (after.size + operations.length);
  if (need <= heapSize) return;
  throw new ApiError(
    507,
    'HeapFull',
    `a configuration of ${after.size} directives needs "worker_heap_size ${megabytes(need)};" at least, workers have ${megabytes(heapSize)}`,
  );
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)}m`;
