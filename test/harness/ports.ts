import { reservePort } from '../../testing/free-port.js';
import type { Scope } from './scope.js';

/** A port on which nothing listens, reserved for this test until it ends. */
export async function freePort(t: Scope): Promise<number> {
  const reserved = await reservePort();
  t.teardown(() => reserved.release());
  return reserved.port;
}
