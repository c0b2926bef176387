/** Actions of the API on one cache. */
import { ApiError } from '../../core/contract/control.js';
import type { CacheStatus } from './cache-figures.js';
import type { CacheZone } from './cache-zone.js';
import { digest } from './entry-names.js';
import { purgeKey } from './query-alias.js';
import type { PurgeKind } from './purge-list.js';
import type { Purges } from './purges.js';

export interface ShownZone {
  readonly name: string;
  readonly path: string;
  /** Bytes of the files, and the most of them; 0: no limit. */
  readonly size: number;
  readonly max_size: number;
  /** Bytes of the index. */
  readonly memory: number;
  readonly entries: number;
  /** All files that were there at the start are in the index. */
  readonly loaded: boolean;
  /** Requests. */
  readonly hits: number;
  readonly misses: number;
  readonly stale: number;
  readonly updating: number;
  readonly revalidated: number;
  readonly expired: number;
  readonly bypass: number;
  /** Bytes of bodies that clients got from the cache, and from members. */
  readonly bytes: number;
  readonly member_bytes: number;
  /** Responses in memory, and the bytes of them. */
  readonly kept: number;
  readonly kept_bytes: number;
}

export interface ShownEntry {
  readonly key: string;
  readonly status: number;
  /** Seconds. */
  readonly age: number;
  readonly fresh: number;
  readonly bytes: number;
  readonly vary: string;
  readonly etag: string;
  readonly tags: readonly string[];
}

export interface PurgeParams {
  readonly zone: string;
  readonly kind: PurgeKind;
  readonly text: string;
  readonly isSoft: boolean;
}

export function showZone({ name, path, index, figures, kept }: CacheZone): ShownZone {
  const { size, entries, isLoaded } = index;
  return {
    name,
    path: path.path,
    size,
    max_size: path.max_size ?? 0,
    memory: path.keys_zone.size,
    entries,
    loaded: isLoaded,
    hits: figures.requests('HIT'),
    misses: figures.requests('MISS'),
    stale: figures.requests('STALE'),
    updating: figures.requests('UPDATING'),
    revalidated: figures.requests('REVALIDATED'),
    expired: figures.requests('EXPIRED'),
    bypass: figures.requests('BYPASS'),
    bytes: (['HIT', 'STALE', 'UPDATING', 'REVALIDATED'] as const).reduce((sum, status) => sum + figures.bytes(status), 0),
    member_bytes: (['MISS', 'EXPIRED', 'BYPASS'] as const).reduce((sum, status) => sum + figures.bytes(status), 0),
    kept: kept?.count ?? 0,
    kept_bytes: kept?.bytes ?? 0,
  };
}

/** Figures of a cache with the names of NGINX Plus. */
export function plusZone({ path, index, figures }: CacheZone): object {
  const { size, isLoaded } = index;
  const read = (status: CacheStatus): object => ({
    responses: figures.since(status, 'requests'),
    bytes: figures.since(status, 'bytes'),
  });
  const fetched = (status: CacheStatus): object => ({
    ...read(status),
    responses_written: figures.since(status, 'written'),
    bytes_written: figures.since(status, 'writtenBytes'),
  });
  return {
    size,
    ...(path.max_size !== undefined && { max_size: path.max_size }),
    cold: !isLoaded,
    hit: read('HIT'),
    stale: read('STALE'),
    updating: read('UPDATING'),
    revalidated: read('REVALIDATED'),
    miss: fetched('MISS'),
    expired: fetched('EXPIRED'),
    bypass: fetched('BYPASS'),
  };
}

/** @throws (rejects) ApiError 404 */
export async function showEntry(zone: CacheZone, text: string): Promise<ShownEntry> {
  const key = asBytes(text);
  const file = await zone.open(digest(key), key);
  if (file === undefined) throw noEntry(text);
  const { head, date, validUntil, vary, etag, tags, bodyLength } = file.stored;
  file.close();
  return {
    key: text,
    status: Number(head.slice(9, 12)),
    age: Math.max(0, Math.floor((Date.now() - date) / 1000)),
    fresh: Math.max(0, Math.ceil((validUntil - Date.now()) / 1000)),
    bytes: bodyLength,
    vary,
    etag,
    tags: tags === '' ? [] : tags.split(' '),
  };
}

/** @returns how many responses are gone; null: what it is about is found when it is asked for */
export async function purge(zone: CacheZone, purges: Purges, params: PurgeParams, dryRun: boolean): Promise<number | null> {
  const { kind, isSoft } = params;
  const text = asBytes(params.text);
  if (dryRun) return null;
  if (kind === 'key' && !isSoft) {
    const removed = await purgeKey(zone, text).catch(() => undefined);
    if (removed !== undefined) return removed ? 1 : 0;
    // The file cannot be removed: it is not used.
  }
  await purges.purge(zone.name, kind, text, isSoft);
  return null;
}

function noEntry(key: string): ApiError {
  return new ApiError(404, 'CacheEntryNotFound', `no response is stored with the key "${key}"`);
}

/** In traffic, text is bytes, one a character. */
function asBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}
