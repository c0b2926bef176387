/** Snapshots in Redis: a hash with the pieces of a state, since one long command would hold up all others. */
import { randomInt } from 'node:crypto';
import type { RedisConnection } from '../contract/redis.js';
import type { LogVersion, Snapshot } from './commit-log.js';
import type { ContentSeal } from './content-seal.js';

const PIECE = 256 * 1024;
/** A snapshot that no script has taken over is gone after this time. */
const UNFINISHED_MS = 60_000;
/** A snapshot that is replaced while it is read is read again. */
const ATTEMPTS = 5;

/** @param key of a snapshot that is not in use yet */
export async function writeSnapshot(
  connection: RedisConnection,
  key: string,
  { state, number }: { readonly state: unknown; readonly number: number },
  seal: ContentSeal,
): Promise<void> {
  const text = seal.seal(state, `snapshot ${number}`);
  const id = randomInt(2 ** 47);
  const count = Math.ceil(text.length / PIECE);
  await connection.command('DEL', key);
  await connection.command('HSET', key, 'id', id, 'count', count);
  await connection.command('PEXPIRE', key, UNFINISHED_MS);
  for (let at = 0; at < count; at++) await connection.command('HSET', key, `${id}:${at}`, text.slice(at * PIECE, (at + 1) * PIECE));
}

/** @returns undefined: there is none. Reading its `state` throws an Error when this node cannot decrypt it */
export async function readSnapshot<State>(
  connection: RedisConnection,
  key: string,
  seal: ContentSeal,
): Promise<Snapshot<State> | undefined> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
    const reply = await connection.command('HMGET', key, 'place', 'id', 'count');
    const [place, id, count] = reply as readonly (string | null)[];
    if (typeof place !== 'string') return undefined;
    const pieces: string[] = [];
    while (pieces.length < Number(count)) {
      const piece = await connection.command('HGET', key, `${id}:${pieces.length}`);
      if (typeof piece !== 'string') break;
      pieces.push(piece);
    }
    if (pieces.length < Number(count)) continue;
    const [epoch = 0, number = 0, mark = 0] = place.split(' ').map(Number);
    const version: LogVersion = { epoch, number, mark };
    return {
      version,
      get state() {
        return seal.open(pieces.join(''), `snapshot ${number}`) as State;
      },
    };
  }
  return undefined;
}
