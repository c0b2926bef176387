/** Bytes of heap from which on a start leaves much behind. */
const LARGE = 96 * 1024 * 1024;

/**
 * Releases memory that only the start needs: the configuration as it was read, and all intermediate results. V8 would keep the memory
 * for as long as nothing makes it look, and a thread that rests allocates nothing. Takes some tenths of a second with a heap of hundreds of
 * megabytes; a small one is left alone.
 */
export function releaseAfterStart(): void {
  if (process.memoryUsage().heapUsed < LARGE) return;
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  const collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
  collect();
}
