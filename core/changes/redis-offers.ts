/** Nodes that find Redis without their log offer to begin it again: the one with the latest changes does. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisConnection } from '../contract/redis.js';
import type { LogVersion } from './commit-log.js';

/** A node that has offered to begin a log, and has not done it, is forgotten after this time. Milliseconds. */
const OFFERED_MS = 5000;
const RETRY_MS = 100;

/** A function for scripts: true if no other node has offered later changes. */
export const LATEST_OFFER = `
local function isLatest(offers, mine, base)
  local all = redis.call('HGETALL', offers)
  for at = 2, #all, 2 do
    local epoch, number = string.match(all[at], '^(%d+) (%d+)$')
    epoch, number = tonumber(epoch), tonumber(number)
    if epoch > mine or epoch == mine and number > base then return false end
  end
  return true
end
`;

/**
 * Begins a log, unless another node does.
 * @param ms how long the others have for their offers
 * @param begin writes what the log begins with. @returns its status: `later` if another node has later changes
 * @returns true: this node has begun it
 * @throws RedisFailure
 */
export async function beginInTurn(
  { connection, offers, node }: { readonly connection: RedisConnection; readonly offers: string; readonly node: string },
  { epoch, number }: LogVersion,
  ms: number,
  begin: () => Promise<string>,
): Promise<boolean> {
  await connection.command('HSET', offers, node, `${epoch} ${number}`);
  await connection.command('PEXPIRE', offers, OFFERED_MS);
  await delay(ms);
  // A node that does not begin in time does not count any more.
  for (const end = Date.now() + OFFERED_MS + RETRY_MS; ; await delay(RETRY_MS)) {
    const status = await begin();
    if (status !== 'later' || Date.now() > end) return status === 'ok';
  }
}
