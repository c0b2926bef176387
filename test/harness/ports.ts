import type { ExecutionContext } from 'ava';
import { reservePort } from '../../testing/free-port.js';

/** A port on which nothing listens, reserved for this test until it ends. */
export async function freePort(t: ExecutionContext): Promise<number> {
  const reserved = await reservePort();
  t.teardown(() => reserved.release());
  return reserved.port;
}
