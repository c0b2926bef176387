import { createHash } from 'node:crypto';
import type { RedisScript } from '../contract/redis.js';

/** The hash is made at its first use: node:crypto takes 12 ms of the start of a server without Redis. */
export function script(text: string): RedisScript {
  let hash: string | undefined;
  return {
    text,
    get hash() {
      return (hash ??= createHash('sha1').update(text).digest('hex'));
    },
  };
}
