/** Bytes that small buffers of one thread share. */
const POOL_SIZE = 1024;

/**
 * Makes the pool of small buffers smaller in this thread: mqtt-packet keeps 4 bytes for each length of a packet forever, and with them all of the
 * pool that Node.js had at hand, 64 KB. With lengths that are new now and then it would grow for days.
 */
export function keepPoolSmall(): void {
  Buffer.poolSize = POOL_SIZE;
}
