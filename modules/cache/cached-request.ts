import type { HttpRequest, MemberCall, MemberResponse, Result } from '../../core/contract/http.js';
import { DECLINED } from '../../core/contract/http.js';
import type { CallFailure } from '../../core/contract/member-call.js';
import type { Log } from '../../core/contract/log.js';
import type { CacheStatus } from './cache-figures.js';
import type { CachePlan } from './cache-plan.js';
import { cacheStateOf, ownCacheState, setCacheState, type CacheState } from './cache-state.js';
import { cacheStatusField, type ForwardReason } from './cache-status.js';
import type { CacheZone, Moment } from './cache-zone.js';
import { isTrue } from './conditions.js';
import type { StaleCase } from './directives.js';
import type { EntryFile, StoredHead } from './entry-file.js';
import { EntryLookup } from './entry-lookup.js';
import { variantOf } from './entry-names.js';
import type { ArrivingFile } from './arriving-file.js';
import { FetchLock } from './fetch-lock.js';
import { PartChoice } from './part-choice.js';
import { renewStored, storeResponse } from './response-storing.js';
import { isSingleRange, type Part } from './rfc9111/partial.js';
import { NO_TERMS, type RequestTerms } from './rfc9111/request-terms.js';
import { isUsable, isUsableForNow, isUsableOnError, type Judgement, type Received } from './rules.js';
import { sliceRange } from './slices.js';
import { fieldIn, isSameBody } from './stored-response.js';
import { sendStored } from './stored-sending.js';

/** Conditions and ranges are about the stored response: the member gets none. */
const CLIENTS_CONDITIONS = ['Range', 'If-Range', 'If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

/** The client wants nothing from a member (only-if-cached): RFC 9111, 5.2.1.7. */
const NOT_CACHED = 504;

/** A request with a cache: from the look into it to the storing of what a member has sent. */
export class CachedRequest implements CacheState {
  status: CacheStatus | undefined = undefined;
  #terms: RequestTerms = NO_TERMS;
  #mayStore = true;
  /** Before the member was asked. */
  #since: Moment | undefined = undefined;
  /** Epoch milliseconds when a member was asked. */
  #askedAt = 0;
  #forwarded: ForwardReason | undefined = undefined;
  #memberStatus = 0;
  /** Epoch milliseconds; NaN: the response is not stored. */
  #freshUntil = NaN;
  #isRevalidating = false;
  #lock: FetchLock | undefined = undefined;
  #isUpdating = false;
  #isStoring = false;
  #isOver = false;
  #isPart = false;
  readonly #lookup: EntryLookup;
  /** Undefined: parts are not stored. */
  readonly #parts: PartChoice | undefined;
  /** The response is stored, or cannot be. */
  storing: Promise<void> | undefined = undefined;

  static of(request: HttpRequest): CachedRequest | undefined {
    const state = cacheStateOf(request);
    return state instanceof CachedRequest ? state : undefined;
  }

  /** Ends the part before an internal redirect, which would wait for its own lock. */
  static leave(request: HttpRequest): void {
    const before = ownCacheState(request);
    if (before instanceof CachedRequest) before.#leave();
  }

  constructor(
    readonly request: HttpRequest,
    readonly call: MemberCall,
    private readonly plan: CachePlan,
    private readonly zone: CacheZone,
    readonly key: string,
    log: Log,
  ) {
    this.#lookup = new EntryLookup(request, plan.rules, zone, key, log);
    this.#parts = plan.rules.storesParts ? new PartChoice(this.#lookup, (sub) => CachedRequest.of(sub)?.storing) : undefined;
    setCacheState(request, this);
  }

  /** The head of the stored response, also when its file is closed. */
  get stored(): StoredHead | undefined {
    return this.#lookup.stored;
  }

  /** Before a member is asked. DECLINED: one is. A promise only where something is waited for. */
  lookUp(starter: CachedRequest | undefined): Result | Promise<Result> {
    const { request, plan, zone } = this;
    request.atEnd(() => this.#leave());
    if (starter === undefined) this.#terms = plan.rules.terms(request);
    const ready = zone.purges.ready();
    if (ready === undefined && !plan.rules.readsQueries) return this.#find(starter);
    return this.#prepare(ready).then(() => this.#find(starter));
  }

  async #prepare(ready: Promise<unknown> | undefined): Promise<void> {
    if (ready !== undefined) await ready;
    if (this.plan.rules.readsQueries) await this.#lookup.findPlace();
  }

  #find(starter: CachedRequest | undefined): Result | Promise<Result> {
    const { request, plan, zone } = this;
    const isBypassed = isTrue(plan.bypass, request);
    if (!isBypassed && this.#lookup.openKept(request.startTime)) {
      this.#forwarded = 'uri-miss';
      return this.#opened(starter, Infinity);
    }
    const known = zone.index.use(this.#name, request.startTime);
    if (isBypassed) {
      this.#forwarded = 'bypass';
      this.status = 'BYPASS';
      return this.#toMember();
    }
    this.#forwarded = 'uri-miss';
    const opening = this.#lookup.open(known);
    return opening === undefined ? this.#opened(starter, known.uses) : opening.then(() => this.#opened(starter, known.uses));
  }

  #opened(starter: CachedRequest | undefined, uses: number): Result | Promise<Result> {
    const missing = starter?.missing;
    if (missing !== undefined) return this.#askForPart(missing);
    const isBackground = starter !== undefined;
    const choice = this.#parts === undefined || this.#parts.choose(this.#terms, isBackground);
    if (choice instanceof Promise) return choice.then((isChosen) => this.#chosen(isChosen, isBackground, uses));
    return this.#chosen(choice, isBackground, uses);
  }

  /** @param isChosen see {@link PartChoice.choose} */
  #chosen(isChosen: boolean, isBackground: boolean, uses: number): Result | Promise<Result> {
    const { conf } = this.plan;
    if (!isChosen) this.#forwarded = 'partial';
    if (this.stored !== undefined) return this.#withStored(this.stored, isBackground);
    this.status = 'MISS';
    if (this.#terms.onlyIfCached) return NOT_CACHED;
    if (uses < conf.cache_min_uses) {
      this.#mayStore = false;
      return this.#toMember();
    }
    return conf.cache_lock ? this.#behindLock() : this.#toMember();
  }

  get #name(): string {
    return this.#lookup.name;
  }

  #withStored(stored: StoredHead, isBackground: boolean): Result {
    const { request, plan, zone } = this;
    const now = request.startTime;
    if (!isBackground && isUsable(stored, this.#terms, now)) return this.#sendUsable(stored.validUntil > now);
    if (this.#terms.onlyIfCached) return NOT_CACHED;
    const allowsStale = isUsableForNow(stored, this.#terms, now, plan.stale.has('updating'));
    this.status = 'EXPIRED';
    this.#forwarded = stored.validUntil > now && stored.flags === 0 ? 'request' : 'stale';
    if (isBackground) return this.#toMember();
    if (!zone.index.beginUpdate(this.#name, now)) return allowsStale ? this.#send('UPDATING') : this.#toMember();
    this.#isUpdating = true;
    if (!allowsStale || !(plan.conf.cache_background_update || plan.rules.updatesInBackground)) return this.#toMember();
    this.#updateInBackground();
    return this.#send('STALE');
  }

  /** A response of which a part was fetched for this request does not count as a hit. */
  #sendUsable(isFresh: boolean): Result {
    if (!this.#isJoined) return this.#send(isFresh ? 'HIT' : 'STALE');
    this.#forwarded = 'partial';
    return this.#send('MISS');
  }

  get #isJoined(): boolean {
    return this.#parts?.isJoined === true;
  }

  #updateInBackground(): void {
    const { request, zone } = this;
    this.#isUpdating = false;
    const over = (): void => zone.index.endUpdate(this.#name);
    request.subrequest(request.uri, { args: request.args, limit: 0, detached: true, sameTarget: true }).then(over, over);
  }

  /** One request goes to a member, and the others wait for what it brings. */
  async #behindLock(): Promise<Result> {
    const { request, plan, zone } = this;
    const lookup = this.#lookup;
    const lock = (this.#lock = new FetchLock(zone, request, plan.conf, this.#name, lookup.place.key));
    let beside: StoredHead | undefined;
    for (;;) {
      const isHeld = lock.acquire();
      if (isHeld && !lookup.isOutdated) return this.#toMember();
      if (!isHeld && lock.isOver) {
        this.#mayStore = false;
        return this.#toMember();
      }
      const arriving = isHeld ? undefined : await lock.wait();
      if (request.signal.aborted) {
        if (arriving !== 'declined') arriving?.close();
        return DECLINED;
      }
      if (arriving === 'declined') return this.#toMember();
      if (arriving !== undefined) {
        const result = this.#join(arriving);
        if (result !== undefined) return result;
        if (this.#isForOthers(arriving.stored)) beside = arriving.stored;
      }
      await (beside === undefined ? lookup.open() : lookup.openBeside(beside));
      if (beside !== undefined) lock.turnTo(lookup.variantName);
      if (this.#parts !== undefined && !(await this.#parts.choose(this.#terms, false))) this.#forwarded = 'partial';
      if (this.stored !== undefined) {
        lock.release();
        return this.#withStored(this.stored, false);
      }
      if (isHeld) return this.#toMember();
    }
  }

  /** Sends a response while it is being stored. Undefined: it is not for this request. */
  #join(file: ArrivingFile): Result | undefined {
    const { stored } = file;
    const lookup = this.#lookup;
    if (stored.key !== lookup.place.key || this.#isForOthers(stored) || !isUsable(stored, this.#terms, Date.now())) {
      file.close();
      return undefined;
    }
    lookup.stored = stored;
    this.status = 'HIT';
    this.#forwarded = undefined;
    this.#freshUntil = stored.validUntil;
    return sendStored(this.call, this.request, this.plan.rules, stored, file, undefined);
  }

  /** The fields that Vary names are others. */
  #isForOthers({ key, vary, variant }: StoredHead): boolean {
    return key === this.#lookup.place.key && variant !== variantOf(vary, this.request, this.plan.rules);
  }

  /** The part that a subrequest asks a member for. */
  get missing(): Part | undefined {
    return this.#parts?.missing;
  }

  /** A subrequest for the bytes that are missing: the whole, if the member has other ones now. */
  #askForPart({ start, end }: Part): Result {
    const { request, stored } = this;
    const etag = stored?.etag ?? '';
    this.#askMember();
    this.#isPart = true;
    this.status = 'MISS';
    this.#forwarded = 'partial';
    if (etag === '') return DECLINED;
    request.upstream.set('Range', `bytes=${start}-${end - 1}`);
    request.upstream.set('If-Range', etag);
    return DECLINED;
  }

  /** Goes on to a member, which gets no conditions of the client. */
  #toMember(): Result {
    const { request, plan, stored } = this;
    this.#askMember();
    if (this.#forwarded === 'uri-miss' && this.#lookup.isOtherVariant) this.#forwarded = 'vary-miss';
    const range = request.header('range');
    // A part is stored as well.
    if (
      stored === undefined &&
      plan.rules.storesParts &&
      request.method === 'GET' &&
      request.parent === undefined &&
      isSingleRange(range)
    ) {
      const condition = request.header('if-range');
      request.upstream.set('Range', range);
      if (condition !== undefined) request.upstream.set('If-Range', condition);
    }
    if (stored === undefined || !(plan.conf.cache_revalidate || plan.rules.alwaysValidates)) return DECLINED;
    if (stored.etag !== '') request.upstream.set('If-None-Match', stored.etag);
    const modified = fieldIn(stored.head, 'last-modified');
    if (modified !== '') request.upstream.set('If-Modified-Since', modified);
    this.#isRevalidating = stored.etag !== '' || modified !== '';
    return DECLINED;
  }

  /** The member gets nothing that is about the client's own copy. */
  #askMember(): void {
    const { request, call, plan } = this;
    this.#since = this.zone.beginFetch();
    this.#askedAt = Date.now();
    for (const name of CLIENTS_CONDITIONS) request.upstream.remove(name);
    const range = sliceRange(request);
    if (range !== '') request.upstream.set('Range', range);
    if (call.method === 'HEAD' && plan.conf.cache_convert_head) call.method = 'GET';
  }

  /** The response of a member is here. DECLINED: it goes to the client. */
  responded(response: MemberResponse): Result | Promise<Result> {
    this.#memberStatus = response.status;
    const { request, plan, call, stored } = this;
    const now = Date.now();
    const { ignored } = call;
    const received = { request, response, ignored, validity: plan.validity, requestTime: this.#askedAt, responseTime: now };
    if (response.status === 304 && this.#isRevalidating && stored !== undefined) {
      const renewed = plan.rules.isAbout(stored, received) ? this.#renew(stored, received, this.#lookup.file) : Promise.resolve();
      return renewed.then(() => this.#send('REVALIDATED'));
    }
    if (stored !== undefined && this.#isInPlaceOf(stored, response.status)) {
      response.discard();
      return this.#send('STALE');
    }
    if (call.method === 'HEAD' && !plan.rules.storesHeads) {
      this.#adoptHead(response, received);
      return DECLINED;
    }
    if (response.status !== 206) this.#lookup.close();
    if (!this.#mayStore || this.#terms.noStore || isTrue(plan.conf.no_cache, request)) {
      this.#lock?.release();
      return DECLINED;
    }
    const judgement = plan.rules.judge(received);
    if (Number.isNaN(judgement.seconds)) this.#lock?.decline();
    else this.#store(response, received, judgement);
    return DECLINED;
  }

  /** The member leads elsewhere: others do not wait for what the client gets. */
  replaced(): void {
    this.#lock?.decline();
    this.#release();
  }

  /** The response to a HEAD is news about the stored one (RFC 9111, 4.3.5). */
  #adoptHead(response: MemberResponse, received: Received): void {
    const { stored, zone } = this;
    if (stored === undefined || this.#lookup.file === undefined || response.status !== 200) return;
    const file = this.#lookup.take();
    const isSame = isSameBody(stored, response);
    const done = isSame ? this.#renew(stored, received, file) : zone.remove(this.#lookup.variantName);
    done.finally(() => file?.close()).catch(() => undefined);
  }

  /** True if the stored response is sent for one with this status. */
  #isInPlaceOf(stored: StoredHead, status: number): boolean {
    const { plan, request } = this;
    const isConfigured = plan.stale.has(`http_${status}` as StaleCase);
    return (isConfigured || plan.rules.errors.has(status)) && isUsableOnError(stored, this.#terms, request.startTime, isConfigured);
  }

  /** No member has responded. DECLINED: the client gets the error. */
  failed(failure: CallFailure): Result {
    const { stored, plan, request } = this;
    const isUsed =
      stored !== undefined &&
      this.#lookup.file !== undefined &&
      isUsableOnError(stored, this.#terms, request.startTime, plan.stale.has(failure));
    if (isUsed) return this.#send('STALE');
    // The page for the error may take long.
    this.#release();
    return DECLINED;
  }

  /** The text for Cache-Status; empty: the configuration does not want it, or there is nothing to say. */
  get cacheStatus(): string {
    if (!this.plan.showsStatus || (this.#forwarded !== undefined && this.#askedAt === 0 && !this.#isJoined)) return '';
    const freshFor = this.#freshUntil - Date.now();
    return cacheStatusField({
      forwarded: this.#forwarded,
      memberStatus: this.#memberStatus,
      isStored: this.#isStoring || this.#isJoined,
      freshFor,
    });
  }

  /** Ranges of what is stored, or is being stored whole. */
  get allowsRanges(): boolean {
    return (
      this.#isStoring ||
      this.#isJoined ||
      (this.status !== undefined && this.status !== 'MISS' && this.status !== 'BYPASS' && this.status !== 'EXPIRED')
    );
  }

  #send(status: CacheStatus): Result {
    const file = this.#lookup.take();
    if (file === undefined) return 500;
    this.status = status;
    if (status !== 'REVALIDATED' && status !== 'MISS') this.#forwarded = undefined;
    const stored = this.stored ?? file.stored;
    this.#freshUntil = stored.validUntil;
    return sendStored(this.call, this.request, this.plan.rules, stored, file, this.#parts?.wanted);
  }

  #renew(stored: StoredHead, received: Received, file: EntryFile | undefined): Promise<void> {
    return renewStored(this.#lookup, stored, received, file, this.#since ?? this.zone.beginFetch());
  }

  #store(response: MemberResponse, received: Received, judgement: Judgement): void {
    const since = this.#since ?? this.zone.beginFetch();
    const started = storeResponse(this.#lookup, this.plan, response, received, judgement, since, this.#lock?.arrival);
    if (started === undefined) return;
    this.#isStoring = true;
    this.#freshUntil = started.validUntil;
    this.storing = started.done.then((bytes) => {
      if (bytes > 0 && this.status !== undefined) this.zone.figures.wrote(this.status, bytes);
      this.#isStoring = false;
      this.#release();
    });
  }

  /** The request is over, or elsewhere. */
  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // A part that is fetched for another request is counted with that.
    if (this.status !== undefined && !this.#isPart) this.zone.figures.count(this.status, this.request);
    this.#lookup.leave();
    if (!this.#isStoring) this.#release();
  }

  #release(): void {
    this.#lock?.release();
    if (this.#isUpdating) this.zone.index.endUpdate(this.#name);
    this.#isUpdating = false;
  }
}
