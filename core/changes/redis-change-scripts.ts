/**
 * The scripts of the configuration of several nodes in Redis: each is one step for all nodes. Their keys:
 *
 * - `…config`: a hash: `format`; `epoch`, the time at which the log began; `version`, number of the last change; `mark`, a random number that
 *   the last change has; `snapshot`, version of the snapshot; `bytes`, of the changes after it.
 * - `…config:changes`: a stream: a change has the id `NUMBER-1` and the fields n (node), a (its time), m (mark) and c (content).
 * - `…config:news`: a short stream that nodes wait at: it has an entry for each append, each request for a snapshot (w: of this version),
 *   each question to the other nodes (q) and each node that could begin the log (o).
 * - `…config:snapshot`: a hash: `place` (epoch, number and mark), `count` and the pieces of a state, `PLACE:0` and so on.
 * - `…config:offers`: a hash: epoch and number of the nodes that could begin the log.
 */
import { CHECK_TIME, checkLog, lookScript } from './redis-log-scripts.js';
import { LATEST_OFFER } from './redis-offers.js';
import { script } from './redis-script.js';

/** Format of the data. Another one is not touched. */
export const FORMAT = '1';
/** Changes that stay in the stream when a snapshot has them. */
const SPARE = 64;

const LOG = { stream: 'KEYS[2]', all: 'KEYS[1], KEYS[2]', fields: ['bytes', 'snapshot'] };
const CHECK = checkLog(LOG);

/** Changes after one. KEYS: config, changes. ARGV: format, epoch, number and mark of the last known change, most changes. */
export const LOOK = lookScript(LOG);

/**
 * Makes changes, all or none. KEYS: config, changes, news. ARGV: format, epoch, number and mark of the last known change, latest time by the clock of
 * Redis, node, its time, then mark and content of each change.
 * @returns `ok`, the number of the last one, no changes between, how many and how many bytes follow the snapshot; `conflict`: another change follows the known one; `late`; or
 * as {@link lookScript}
 */
export const APPEND = script(`${CHECK}
if meta[2] ~= ARGV[2] or version ~= base or meta[4] ~= ARGV[4] then return {'conflict'} end
${CHECK_TIME}
local bytes = tonumber(meta[5])
for at = 8, #ARGV, 2 do
  version = version + 1
  bytes = bytes + #ARGV[at + 1]
  redis.call('XADD', KEYS[2], version .. '-1', 'n', ARGV[6], 'a', ARGV[7], 'm', ARGV[at], 'c', ARGV[at + 1])
end
redis.call('HSET', KEYS[1], 'version', version, 'mark', ARGV[#ARGV - 1], 'bytes', bytes)
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10, '*', 'v', version)
return {'ok', version, {}, version - tonumber(meta[6]), bytes}
`);

/**
 * Begins a log: an empty one, or one in the place of a log that has lost its last changes. KEYS: config, changes, news, snapshot, offers, snapshot of this
 * node. ARGV: format, epoch and number that this node has, number and mark of the snapshot, node, epoch, version and mark of the log that is
 * replaced (empty: there is none).
 * @returns `ok` and the epoch; `exists`; `later`: another node has later changes
 */
export const BEGIN = script(`
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'mark')
local isThere
if ARGV[7] == '' then
  isThere = redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[4]) > 0
else
  isThere = meta[1] ~= ARGV[7] or meta[2] ~= ARGV[8] or meta[3] ~= ARGV[9]
end
if isThere then
  redis.call('DEL', KEYS[6])
  return {'exists'}
end
${LATEST_OFFER}
if not isLatest(KEYS[5], tonumber(ARGV[2]), tonumber(ARGV[3])) then return {'later'} end
local epoch = math.max(tonumber(redis.call('TIME')[1]), (tonumber(ARGV[7]) or 0) + 1)
local place = string.format('%.0f %s %s', epoch, ARGV[4], ARGV[5])
-- These fail without the right, before anything is replaced.
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10, '*', 'v', ARGV[4])
redis.call('PERSIST', KEYS[6])
redis.call('RENAME', KEYS[6], KEYS[4])
redis.call('HSET', KEYS[4], 'place', place)
redis.call('DEL', KEYS[2], KEYS[5])
redis.call('XADD', KEYS[2], ARGV[4] .. '-1', 'n', ARGV[6], 'a', 0, 'm', ARGV[5], 'c', '')
redis.call('HSET', KEYS[1], 'format', ARGV[1], 'epoch', epoch, 'version', ARGV[4], 'mark', ARGV[5], 'bytes', 0, 'snapshot', ARGV[4])
return {'ok', tostring(epoch)}
`);

/**
 * Replaces the snapshot with a later one. KEYS: config, changes, news, snapshot, offers, snapshot of this node. ARGV: as
 * {@link LOOK}, of the snapshot.
 * @returns `ok`; `old`: there is a later one, or the log has another change there; or as {@link lookScript}
 */
export const SAVE = script(`${CHECK}
if meta[2] ~= ARGV[2] or version < base or tonumber(meta[6]) >= base or markOf(base) ~= ARGV[4] then
  redis.call('DEL', KEYS[6])
  return {'old'}
end
redis.call('PERSIST', KEYS[6])
redis.call('RENAME', KEYS[6], KEYS[4])
redis.call('HSET', KEYS[4], 'place', ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
redis.call('HSET', KEYS[1], 'snapshot', ARGV[3], 'bytes', 0)
redis.pcall('XTRIM', KEYS[2], 'MINID', math.max(1, base - ${SPARE}) .. '-1')
return {'ok'}
`);
