/** Storing what members have sent. */
import type { MemberResponse } from '../../core/contract/http.js';
import { MalformedBody } from '../../core/contract/http.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { Arrival } from './arrivals.js';
import type { CachePlan } from './cache-plan.js';
import type { Moment } from './cache-zone.js';
import type { EntryFile, StoredHead } from './entry-file.js';
import type { EntryLookup } from './entry-lookup.js';
import { randomSeed, variantOf } from './entry-names.js';
import { changedPlace } from './query-alias.js';
import { bytesOf, join, parsePart } from './rfc9111/partial.js';
import type { Judgement, Received } from './rules.js';
import { factsOf, tagsOf } from './stored-response.js';

/** A response that is being stored. */
export interface Storing {
  /** Epoch milliseconds. */
  readonly validUntil: number;
  /** Bytes of the file; 0: it is not stored. Never rejects: errors are logged. */
  readonly done: Promise<number>;
}

/**
 * Stores a response beside its way to the client.
 * @param since before the member was asked
 * @param arrival of a response that others wait for; a part of one is for this client alone
 * @returns undefined: it is a part that does not say of what
 */
export function storeResponse(
  lookup: EntryLookup,
  { rules, conf }: CachePlan,
  response: MemberResponse,
  received: Received,
  judgement: Judgement,
  since: Moment,
  arrival: Arrival | undefined,
): Storing | undefined {
  const { request, zone, log, place } = lookup;
  const part = rules.storesParts && response.status === 206 ? parsePart(response) : undefined;
  if (part === 'invalid') return undefined;
  const vary = response.header('vary') ?? '';
  const variant = received.ignored.has('vary') ? '' : variantOf(vary, request, rules);
  const entry = {
    ...factsOf(received, rules, judgement),
    key: place.key,
    vary: variant === '' ? '' : vary,
    variant,
    seed: lookup.seed === '' ? randomSeed() : lookup.seed,
    tags: tagsOf(response, conf.cache_tag_header.names),
  };
  // The file of the key is that of another variant.
  let name = lookup.variantName === lookup.name || variant === '' ? lookup.name : lookup.nameOf(variant);
  if (name !== lookup.name && !zone.index.addVariant(lookup.name, name)) {
    // A flood of variants: with another seed nothing leads to those of before, which are removed as unused.
    entry.seed = randomSeed();
    name = lookup.name;
  }
  const stored = response.store();
  const body = stored.open();
  stored.release();
  // It is read while this is stored.
  const file = lookup.take();
  const whole = part === undefined ? { head: entry.head, body } : join(file, part, entry, body);
  const rule = rules.readsQueries ? (response.header('no-vary-search') ?? '') : '';
  const live = arrival && part === undefined ? { arrival, length: response.length } : undefined;
  const done = changedPlace(zone, since, lookup.key, request.args, rule, place)
    .then((other) => zone.write(other?.name ?? name, since, { ...entry, head: whole.head, key: other?.key ?? place.key }, whole.body, live))
    .catch((error: unknown) => {
      const level = error instanceof MalformedBody ? 'info' : 'crit';
      log.write(level, `the response is not stored in cache "${zone.name}" (${systemErrorText(error)})`, request);
      return 0;
    })
    .finally(() => file?.close());
  return { validUntil: entry.validUntil, done };
}

/** Gives a stored response the fields of a later one. @param file of the stored response; undefined: a longer head is not stored */
export async function renewStored(
  lookup: EntryLookup,
  stored: StoredHead,
  received: Received,
  file: EntryFile | undefined,
  since: Moment,
): Promise<void> {
  const { zone, log, request, variantName } = lookup;
  const renewal = lookup.rules.renewed(stored, received);
  const renewed = { ...stored, ...renewal, generation: since.generation };
  lookup.stored = renewed;
  try {
    if (renewal.head.length === stored.head.length) await zone.renew(variantName, stored, renewed, since.turn);
    else if (file !== undefined) await zone.write(variantName, since, renewed, bytesOf(file));
  } catch (error) {
    log.write('crit', `cache "${zone.name}" cannot be written (${systemErrorText(error)})`, request);
  }
}
