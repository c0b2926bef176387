/**
 * Zones of several nodes in Redis. The keys:
 *
 * - `…zones`: a stream with the changes of all nodes in the last seconds: n (node), s (number of the message), h (1: the node has nothing of the
 *   others), d (a batch).
 * - `…zones:format`: the format of all of these keys.
 * - `…zone:ID:PERIOD`: a hash: the records of a table with `last` that were changed in a period, by key (base64), for nodes that come later.
 *
 * All of them expire by themselves.
 */
import { createHash } from 'node:crypto';
import type { RedisScript } from '../../contract/redis.js';

/** Another one is not touched. */
export const FORMAT = '1';
/** Messages are kept so long for nodes that have lost their connection. Milliseconds. */
const KEPT_MS = 5000;
const STREAM_MS = 60_000;
const FORMAT_MS = 7 * 24 * 3_600_000;

const TEXT = `
local format = redis.call('GET', KEYS[2])
if format and format ~= ARGV[1] then return {'format', format} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ${FORMAT_MS})
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - ${KEPT_MS}
redis.call('XADD', KEYS[1], 'MINID', '~', string.format('%.0f', oldest), '*', 'n', ARGV[2], 's', ARGV[3], 'h', ARGV[4], 'd', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ${STREAM_MS})
local at = 6
for key = 3, #KEYS do
  local expires, most, count = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local room = most - redis.call('HLEN', KEYS[key])
  for pair = at + 3, at + 1 + 2 * count, 2 do
    if room > 0 or redis.call('HEXISTS', KEYS[key], ARGV[pair]) == 1 then
      room = room - redis.call('HSET', KEYS[key], ARGV[pair], ARGV[pair + 1])
    end
  end
  redis.call('PEXPIRE', KEYS[key], expires)
  at = at + 3 + 2 * count
end
return {format and 'ok' or 'new'}
`;

/**
 * Sends a batch, and puts records where later nodes find them. KEYS: stream, format, a hash for each table and period. ARGV: format, node, number, 1 for a node that has nothing
 * of the others, batch, then for each hash: milliseconds until it expires, most fields, number of pairs, the pairs.
 * @returns `ok`; `new`: there was nothing of this; `format` and the other format
 */
export function sendScript(): RedisScript {
  return { text: TEXT, hash: createHash('sha1').update(TEXT).digest('hex') };
}
