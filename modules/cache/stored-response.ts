/** Facts of stored responses and of new ones. */
import { parseHttpDate } from '../../core/contract/http-date.js';
import type { MemberResponse } from '../../core/contract/http.js';
import type { StoredHead } from './entry-file.js';
import type { CachingRules, Judgement, Received } from './rules.js';

/** The parts of a new entry that follow from the response. */
export type ResponseFacts = Omit<StoredHead, 'key' | 'vary' | 'variant' | 'seed' | 'tags' | 'bodyLength' | 'generation'>;

export function factsOf(received: Received, rules: CachingRules, judgement: Judgement): ResponseFacts {
  const { response, responseTime } = received;
  const { seconds, staleWhileRevalidate, staleIfError, born, flags } = judgement;
  return {
    etag: response.header('etag') ?? '',
    modified: parseHttpDate(response.header('last-modified') ?? ''),
    date: responseTime,
    born,
    flags,
    validUntil: born + seconds * 1000,
    staleWhileRevalidate,
    staleIfError,
    head: rules.storedHead(received),
  };
}

/** Tags of a response, separated by spaces: those of `Cache-Tag` have commas between them, and those of `Surrogate-Key` spaces. */
export function tagsOf(response: MemberResponse, names: readonly string[]): string {
  const tags = names.flatMap((name) => (response.header(name.toLowerCase()) ?? '').split(/[\s,]+/));
  return [...new Set(tags)].filter((tag) => tag !== '').join(' ');
}

/** Value of a field in a head, empty: there is none. */
export function fieldIn(head: string, lowerName: string): string {
  return new RegExp(`\r\n${lowerName}:[ \t]*([^\r]*)`, 'i').exec(head)?.[1] ?? '';
}

/** False: the fields of the response to a HEAD are those of another body than the stored one. */
export function isSameBody({ head, etag, bodyLength }: StoredHead, response: MemberResponse): boolean {
  const length = response.header('content-length');
  if (length !== undefined && Number(length) !== bodyLength) return false;
  const modified = fieldIn(head, 'last-modified');
  return etag === (response.header('etag') ?? etag) && modified === (response.header('last-modified') ?? modified);
}
