/** Parts of responses: RFC 9111, 3.3 and 3.4. */
import type { HttpRequest } from '../../core/contract/http.js';
import type { EntryLookup } from './entry-lookup.js';
import type { StoredHead } from './entry-file.js';
import { isUsable } from './rules.js';
import { contains, isStrong, missingSpan, rangeFor, storedPart, wantedSpan, type ByteSpan, type Part } from './rfc9111/partial.js';
import type { RequestTerms } from './rfc9111/request-terms.js';

/** The part of a stored response that one client wants. */
export class PartChoice {
  /** Bytes of the body; undefined: all of it. */
  wanted: ByteSpan | undefined = undefined;
  /** The part that a subrequest asks a member for. */
  missing: Part | undefined = undefined;
  /** A member was asked for bytes that were missing, and the stored response has them now. */
  isJoined = false;

  /** @param storingOf a subrequest: its response is stored, or cannot be, when that resolves */
  constructor(
    private readonly lookup: EntryLookup,
    private readonly storingOf: (subrequest: HttpRequest) => Promise<void> | undefined,
  ) {}

  /** Of a stored part, chooses the bytes that the client wants, and gets the missing ones. @returns false: there is no stored response for it now */
  choose(terms: RequestTerms, isBackground: boolean): boolean | Promise<boolean> {
    const { lookup } = this;
    const { stored } = lookup;
    const part = stored && storedPart(stored);
    if (stored === undefined || part === undefined) return true;
    const wanted = part === 'invalid' ? undefined : wantedSpan(isBackground ? undefined : rangeFor(lookup.request, stored), part.total);
    if (part === 'invalid' || wanted === undefined) return this.#chosen(undefined);
    if (contains(part, wanted)) return this.#chosen(wanted);
    return this.#complete(stored, part, wanted, terms).then((isComplete) => this.#chosen(isComplete ? wanted : undefined));
  }

  #chosen(wanted: ByteSpan | undefined): boolean {
    if (wanted === undefined) {
      this.lookup.close();
      this.lookup.stored = undefined;
      return false;
    }
    this.wanted = wanted;
    return true;
  }

  /** Has a part joined with the bytes that are missing. @returns false: that is impossible */
  async #complete(stored: StoredHead, part: Part, wanted: ByteSpan, terms: RequestTerms): Promise<boolean> {
    const { lookup } = this;
    const { request } = lookup;
    const missing = missingSpan(part, wanted);
    if (missing === undefined || !isStrong(stored.etag) || !isUsable(stored, terms, request.startTime)) return false;
    if (terms.onlyIfCached || request.parent !== undefined) return false;
    // The missing part would not be stored: the member is asked for all of it at once.
    if (request.header('authorization') !== undefined) return false;
    lookup.close();
    this.missing = { ...missing, total: part.total };
    try {
      const { request: sub } = await request.subrequest(request.uri, { args: request.args, limit: 0, sameTarget: true });
      await this.storingOf(sub);
    } catch {
      // The client is gone, or there are too many subrequests: the request goes on as if nothing was stored.
      return false;
    }
    this.missing = undefined;
    await lookup.open();
    const now = lookup.stored && storedPart(lookup.stored);
    this.isJoined = lookup.stored !== undefined && now !== 'invalid' && (now === undefined || contains(now, wanted));
    return this.isJoined;
  }
}
