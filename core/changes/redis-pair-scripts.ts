/**
 * The scripts of the key-value pairs in Redis: each is one step for all nodes. Their keys:
 *
 * - `…meta`: a hash: `format`; `epoch`, the time at which the log began; `version`, number of the last change; `mark`, a random number that
 *   the last change has; `bytes`, of all changes so far.
 * - `…pairs`: a hash: `VERSION:EXPIRES:VALUE` by key. Times are epoch milliseconds by the clock of Redis; 0: never.
 * - `…changes`: a stream: a change has the id `NUMBER-1` and the fields n (node), a (time), m (mark), b (bytes until then) and c (JSON).
 * - `…offers`: a hash: epoch and number of the nodes that could begin the log.
 *
 * A node knows number and mark of the last change that it has: a server that has lost changes, and got others of the same number, is noticed.
 */
import { CHECK_TIME, checkLog, lookScript } from './redis-log-scripts.js';
import { LATEST_OFFER } from './redis-offers.js';
import { script } from './redis-script.js';

/** Format of the data. Another one is not touched. */
export const FORMAT = '1';
/** Changes that the stream keeps at most, and their bytes. A node that has missed more takes a snapshot. */
export const MOST_CHANGES = 100_000;
export const MOST_BYTES = 64 * 1024 ** 2;
/** Changes of other nodes that the response to a write may carry. */
const MOST_BEFORE = 256;

const LOG = { stream: 'KEYS[3]', all: 'KEYS[1], KEYS[2], KEYS[3]', fields: ['bytes'] };

/** Changes after one. KEYS: meta, pairs, changes. ARGV: format, epoch, number and mark of the last known change, most changes. */
export const LOOK = lookScript(LOG);

/**
 * Makes a change. KEYS as of {@link LOOK}. ARGV: format, epoch, number and mark of the last known change, latest time by the clock of Redis, mark of the new
 * one, node, most changes and bytes that stay, 1 if no other change may be between, JSON, then key and version of each pair that must be as it is known.
 * @returns `ok`, its number, the changes between and two zeros; `conflict`: other changes forbid it; `late`; or as {@link lookScript}
 */
export const APPEND = script(`${checkLog(LOG)}
if meta[2] ~= ARGV[2] or version < base or version - base > ${MOST_BEFORE} then return {'conflict'} end
local before = {}
if version == base then
  if meta[4] ~= ARGV[4] then return {'conflict'} end
else
  if ARGV[10] == '1' or markOf(base) ~= ARGV[4] then return {'conflict'} end
  before = redis.call('XRANGE', KEYS[3], (base + 1) .. '-1', '+')
  if #before ~= version - base then return {'conflict'} end
end
${CHECK_TIME}
for at = 12, #ARGV, 2 do
  local pair = redis.call('HGET', KEYS[2], ARGV[at])
  local found = pair and string.match(pair, '^%d+') or '0'
  if found ~= ARGV[at + 1] then return {'conflict'} end
end
version = version + 1
local change = cjson.decode(ARGV[11])
-- A missing right has to show before anything is written.
if #change.deleted > 0 then redis.call('HDEL', KEYS[1], '') end
local bytes = tonumber(meta[5]) + #ARGV[11]
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[8], version .. '-1', 'n', ARGV[7], 'a', now, 'm', ARGV[6], 'b', bytes, 'c', ARGV[11])
redis.call('HSET', KEYS[1], 'version', version, 'mark', ARGV[6], 'bytes', bytes)
for _, pair in ipairs(change.set) do
  local expires = pair.ttl > 0 and string.format('%.0f', now + pair.ttl) or '0'
  redis.call('HSET', KEYS[2], pair.key, version .. ':' .. expires .. ':' .. pair.value)
end
for _, key in ipairs(change.deleted) do redis.call('HDEL', KEYS[2], key) end
local oldest = redis.call('XRANGE', KEYS[3], '-', '+', 'COUNT', 10)
for _, entry in ipairs(oldest) do
  if bytes - tonumber(entry[2][8]) < tonumber(ARGV[9]) then break end
  redis.pcall('XDEL', KEYS[3], entry[1])
end
return {'ok', version, before, 0, 0}
`);

/**
 * Begins a log where there is none. KEYS: meta, pairs, changes, offers, the pairs of the node that begins it. ARGV: format, number, mark, node, epoch and
 * number that the node has.
 * @returns `ok`; `exists`; `later`: another node has later changes
 */
export const BEGIN = script(`
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then
  redis.call('DEL', KEYS[5])
  return {'exists'}
end
${LATEST_OFFER}
if not isLatest(KEYS[4], tonumber(ARGV[5]), tonumber(ARGV[6])) then return {'later'} end
local time = redis.call('TIME')
redis.call('DEL', KEYS[4])
if redis.call('EXISTS', KEYS[5]) == 1 then
  redis.call('PERSIST', KEYS[5])
  redis.call('RENAME', KEYS[5], KEYS[2])
end
local entry = {'n', ARGV[4], 'a', time[1] * 1000, 'm', ARGV[3], 'b', 0, 'c', '{"set":[],"deleted":[]}'}
local added = redis.pcall('XADD', KEYS[3], ARGV[2] .. '-1', unpack(entry))
if type(added) == 'table' and added.err then
  -- Without the right to append, what is left must not look like the data of another program.
  redis.call('DEL', KEYS[2])
  return added
end
redis.call('HSET', KEYS[1], 'format', ARGV[1], 'epoch', time[1], 'version', ARGV[2], 'mark', ARGV[3], 'bytes', 0)
return {'ok'}
`);
