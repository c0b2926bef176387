/**
 * Parts that the scripts of both logs in Redis have in common. Their first arguments are format, epoch, number and mark of the last entry that the node
 * knows; a hash, the first key, has those of the last entry that there is.
 */
import { script } from './redis-script.js';
import type { RedisScript } from '../contract/redis.js';

export interface LogKeys {
  /** The stream of the entries: `KEYS[2]`. */
  readonly stream: string;
  /** Keys that are there if the log is: `KEYS[1], KEYS[2]`. */
  readonly all: string;
  /** Names of further fields of the hash, which are in `meta` from 5 on. */
  readonly fields: readonly string[];
}

/** Beginning of a script: returns unless Redis has data in the format of this node. Afterwards there are `meta`, `version`, `base` and `markOf(number)`. */
export const checkLog = ({ stream, all, fields }: LogKeys): string => `
local meta = redis.call('HMGET', KEYS[1], 'format', 'epoch', 'version', 'mark', ${fields.map((name) => `'${name}'`).join(', ')})
if not meta[1] then
  if redis.call('EXISTS', ${all}) > 0 then return {'foreign'} end
  return {'empty'}
end
if meta[1] ~= ARGV[1] then return {'format', meta[1]} end
local version = tonumber(meta[3])
local base = tonumber(ARGV[3])
local function markOf(number)
  if number == version then return meta[4] end
  local entry = redis.call('XRANGE', ${stream}, number .. '-1', number .. '-1')
  return #entry == 1 and entry[1][2][6]
end
`;

/** Returns when the fifth argument, the latest time at which a script has an effect, is over. Afterwards there is `now` (epoch milliseconds). */
export const CHECK_TIME = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now > tonumber(ARGV[5]) then return {'late'} end
`;

/**
 * Entries after the known one, at most as many as the fifth argument says.
 * @returns a script, of which the result is `ok` and the entries; `snapshot`: some are not there any more; `lost`, version and mark: Redis has lost the known entry; `other`:
 * it is of another log; `empty`; `foreign`: keys of another program; `format` and the other format
 */
export const lookScript = (keys: LogKeys): RedisScript =>
  script(`${checkLog(keys)}
if meta[2] ~= ARGV[2] then return {'other'} end
if version < base then return {'lost', meta[3], meta[4]} end
local known = markOf(base)
if not known then return {'snapshot'} end
if known ~= ARGV[4] then return {'lost', meta[3], meta[4]} end
return {'ok', redis.call('XRANGE', ${keys.stream}, (base + 1) .. '-1', '+', 'COUNT', ARGV[5])}
`);
