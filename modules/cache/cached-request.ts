import type { HttpRequest, MemberCall, MemberResponse, Result, Template } from '../../core/contract/http.js';
import { DECLINED } from '../../core/contract/http.js';
import type { CallFailure } from '../../core/contract/member-call.js';
import type { Log } from '../../core/contract/log.js';
import { MalformedBody } from '../../core/contract/http.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { conditionalStatus } from '../../core/toolkit/conditions.js';
import type { CacheStatus } from './cache-figures.js';
import type { CacheZone, Moment } from './cache-zone.js';
import { isTrue } from './conditions.js';
import type { CacheConf, StaleCase } from './directives.js';
import type { EntryFile, StoredHead } from './entry-file.js';
import { isUsable, isUsableForNow, isUsableOnError, type CachingRules, type Judgement, type Received, type Validity } from './rules.js';
import { cacheStatusField, type ForwardReason } from './cache-status.js';
import {
  bytesOf,
  contains,
  cut,
  isSingleRange,
  isStrong,
  join,
  missingSpan,
  parsePart,
  rangeFor,
  storedPart,
  wantedSpan,
  type Part,
  type ByteSpan,
} from './rfc9111/partial.js';
import { changedPlace, findPlace, ownPlace, type EntryPlace } from './query-alias.js';
import { digest, randomSeed, variantOf } from './entry-names.js';
import { factsOf, fieldIn, isSameBody, tagsOf } from './stored-response.js';
import { leadOf, sliceRange } from './slices.js';
import { NO_TERMS, type RequestTerms } from './rfc9111/request-terms.js';

/** Settings of one location for one protocol to members. */
export interface CachePlan {
  readonly conf: CacheConf;
  readonly rules: CachingRules;
  readonly validity: Validity;
  readonly stale: ReadonlySet<StaleCase>;
  readonly methods: ReadonlySet<string>;
  readonly key: Template;
  /** Undefined: the name is none of a cache. */
  zone(name: string): CacheZone | undefined;
}

/** Conditions and ranges are about the stored response: the member gets none. */
const CLIENTS_CONDITIONS = ['Range', 'If-Range', 'If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

const STATUS_LINE = /^[^\r]*/;
/** The client wants nothing from a member (only-if-cached): RFC 9111, 5.2.1.7. */
const NOT_CACHED = 504;
const EMPTY = { length: 0, read: (): number => 0, close: (): void => undefined };

/** Under this key a request keeps its state. */
const STATE = {};

/** A request with a cache: from the look into it to the storing of what a member has sent. */
export class CachedRequest {
  status: CacheStatus | undefined = undefined;
  /** The file for the key, and the name of the one that the response is in: another one for a variant. */
  #place: EntryPlace;
  #variantName: string;
  /** See {@link StoredHead.seed}; empty: there is no file of the key. */
  #seed = '';
  /** The response that is fresh, or stale: open until it is sent or not needed. */
  #file: EntryFile | undefined = undefined;
  /** For variables, also when the file is closed. */
  stored: StoredHead | undefined = undefined;
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
  #isHeld = false;
  #isUpdating = false;
  #isStoring = false;
  #isOver = false;
  /** The part of the body that the client wants, of a stored part: RFC 9111, 3.3. */
  #wanted: ByteSpan | undefined = undefined;
  /** The part that a subrequest asks a member for, see {@link completes}. */
  missing: Part | undefined = undefined;
  /** The response is stored, or cannot be. */
  storing: Promise<void> | undefined = undefined;

  static of(request: HttpRequest): CachedRequest | undefined {
    return leadOf(request).get(STATE) as CachedRequest | undefined;
  }

  constructor(
    readonly request: HttpRequest,
    readonly call: MemberCall,
    private readonly plan: CachePlan,
    private readonly zone: CacheZone,
    readonly key: string,
    private readonly log: Log,
  ) {
    this.#place = ownPlace(key);
    this.#variantName = this.#place.name;
    request.set(STATE, this);
  }

  /** Before a member is asked. DECLINED: one is. */
  async lookUp(starter: CachedRequest | undefined): Promise<Result> {
    const { request, plan, zone } = this;
    const { conf } = plan;
    request.atEnd(() => this.#leave());
    const ready = zone.purges.ready();
    if (ready !== undefined) await ready;
    const isBackground = starter !== undefined;
    if (!isBackground) this.#terms = plan.rules.terms(request);
    if (plan.rules.readsQueries) await this.#findPlace();
    const uses = zone.use(this.#name, request.startTime);
    if (isTrue(conf.cache_bypass, request)) {
      this.#forwarded = 'bypass';
      this.status = 'BYPASS';
      return this.#toMember();
    }
    this.#forwarded = 'uri-miss';
    await this.#open();
    if (starter?.missing !== undefined) return this.#askForPart(starter.missing);
    if (plan.rules.storesParts) await this.#choosePart(isBackground);
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
    return this.#place.name;
  }

  /** The query may count only in part (No-Vary-Search). */
  async #findPlace(): Promise<void> {
    const { request, zone, key } = this;
    try {
      this.#place = (await findPlace(zone, key, request.args)) ?? this.#place;
    } catch (error) {
      this.log.write('crit', `cache "${zone.name}" cannot be read (${systemErrorText(error)})`, request);
    }
  }

  async #withStored(stored: StoredHead, isBackground: boolean): Promise<Result> {
    const { request, plan, zone } = this;
    const now = request.startTime;
    if (!isBackground && isUsable(stored, this.#terms, now)) return this.#send(stored.validUntil > now ? 'HIT' : 'STALE');
    if (this.#terms.onlyIfCached) return NOT_CACHED;
    const allowsStale = isUsableForNow(stored, this.#terms, now, plan.stale.has('updating'));
    this.status = 'EXPIRED';
    this.#forwarded = stored.validUntil > now && stored.flags === 0 ? 'request' : 'stale';
    if (isBackground) return this.#toMember();
    if (!zone.beginUpdate(this.#name, now)) return allowsStale ? this.#send('UPDATING') : this.#toMember();
    this.#isUpdating = true;
    if (!allowsStale || !(plan.conf.cache_background_update || plan.rules.updatesInBackground)) return this.#toMember();
    this.#updateInBackground();
    return this.#send('STALE');
  }

  #updateInBackground(): void {
    const { request, zone } = this;
    this.#isUpdating = false;
    const over = (): void => zone.endUpdate(this.#name);
    request.subrequest(encodeURI(request.uri), { args: request.args, limit: 0, detached: true }).then(over, over);
  }

  /** One request goes to a member, and the others wait for what it brings. */
  async #behindLock(): Promise<Result> {
    const { request, plan, zone } = this;
    const { cache_lock_timeout: timeout, cache_lock_age: age } = plan.conf;
    const deadline = Date.now() + timeout;
    for (let limit = 1; ;) {
      if (zone.holds.acquire(this.#name, limit) === 'held') break;
      const left = deadline - Date.now();
      if (left <= 0) {
        this.#mayStore = false;
        return this.#toMember();
      }
      // After its age the request that all wait for is given up.
      if (!(await zone.holds.whenBelow(this.#name, limit, Math.min(left, age), request.signal)) && age < left) limit++;
      if (request.signal.aborted) return DECLINED;
      await this.#open();
      if (plan.rules.storesParts) await this.#choosePart(false);
      if (this.stored !== undefined && isUsable(this.stored, this.#terms, Date.now())) return this.#send('HIT');
      this.#close();
    }
    this.#isHeld = true;
    return this.#toMember();
  }

  /** Of a stored part, chooses the bytes that the client wants, and gets the missing ones. Without success there is no stored response for it. */
  async #choosePart(isBackground: boolean): Promise<void> {
    const { request, stored } = this;
    const part = stored && storedPart(stored);
    if (stored === undefined || part === undefined) return;
    const wanted = part === 'invalid' ? undefined : wantedSpan(isBackground ? undefined : rangeFor(request, stored), part.total);
    if (part !== 'invalid' && wanted !== undefined && (contains(part, wanted) || (await this.#complete(stored, part, wanted)))) {
      this.#wanted = wanted;
      return;
    }
    this.#close();
    this.stored = undefined;
    this.#forwarded = 'partial';
  }

  /** Has a part joined with the bytes that are missing (RFC 9111, 3.4). @returns false: that is impossible */
  async #complete(stored: StoredHead, part: Part, wanted: ByteSpan): Promise<boolean> {
    const { request } = this;
    const missing = missingSpan(part, wanted);
    if (missing === undefined || !isStrong(stored.etag) || !isUsable(stored, this.#terms, request.startTime)) return false;
    if (this.#terms.onlyIfCached || request.parent !== undefined) return false;
    this.#close();
    this.missing = { ...missing, total: part.total };
    try {
      const { request: sub } = await request.subrequest(encodeURI(request.uri), { args: request.args, limit: 0 });
      await CachedRequest.of(sub)?.storing;
    } catch {
      // The client is gone, or there are too many subrequests: the request goes on as if nothing was stored.
      return false;
    }
    this.missing = undefined;
    await this.#open();
    const now = this.stored && storedPart(this.stored);
    return this.stored !== undefined && now !== 'invalid' && (now === undefined || contains(now, wanted));
  }

  /** A subrequest for the bytes that are missing: the whole, if the member has other ones now. */
  #askForPart({ start, end }: Part): Result {
    const { request, stored } = this;
    const etag = stored?.etag ?? '';
    this.#askMember();
    this.status = 'MISS';
    this.#forwarded = 'partial';
    if (etag === '') return DECLINED;
    request.upstream.set('Range', `bytes=${start}-${end - 1}`);
    request.upstream.set('If-Range', etag);
    return DECLINED;
  }

  /** The stored response for the key, and of a response that varies the one for the fields of the request. */
  async #open(): Promise<void> {
    const { zone, request } = this;
    const { key } = this.#place;
    try {
      this.#variantName = this.#name;
      this.#file = await zone.open(this.#name, key);
      this.#seed = this.#file?.stored.seed ?? '';
      const vary = this.#file?.stored.vary ?? '';
      const variant = variantOf(vary, this.request, this.plan.rules);
      if (this.#file !== undefined && this.#file.stored.variant !== variant) {
        this.#file.close();
        this.#variantName = this.#nameOf(variant);
        this.#forwarded = 'vary-miss';
        this.#file = await zone.open(this.#variantName, key);
        if (this.#file !== undefined && this.#file.stored.variant !== variant) this.#close();
      }
    } catch (error) {
      this.log.write('crit', `cache "${zone.name}" cannot be read (${systemErrorText(error)})`, request);
      this.#file = undefined;
    }
    this.stored = this.#file?.stored;
    // The client has left meanwhile.
    if (this.#isOver) this.#close();
  }

  /** Of the file for another variant than that in the file of the key. */
  #nameOf(variant: string): string {
    return digest(`${this.#place.key}\n${this.#seed}\n${variant}`);
  }

  /** Goes on to a member, which gets no conditions of the client. */
  #toMember(): Result {
    const { request, plan, stored } = this;
    this.#askMember();
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
    this.#since = this.zone.moment;
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
      const renewed = plan.rules.isAbout(stored, received) ? this.#renew(stored, received, this.#file) : Promise.resolve();
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
    if (response.status !== 206) this.#close();
    if (!this.#mayStore || this.#terms.noStore || isTrue(plan.conf.no_cache, request)) return DECLINED;
    const judgement = plan.rules.judge(received);
    if (!Number.isNaN(judgement.seconds)) this.#store(response, received, judgement);
    return DECLINED;
  }

  /** The response to a HEAD is news about the stored one (RFC 9111, 4.3.5). */
  #adoptHead(response: MemberResponse, received: Received): void {
    const { stored, zone } = this;
    const file = this.#file;
    if (stored === undefined || file === undefined || response.status !== 200) return;
    this.#file = undefined;
    const isSame = isSameBody(stored, response);
    const done = isSame ? this.#renew(stored, received, file) : zone.remove(this.#variantName);
    done.finally(() => file.close()).catch(() => undefined);
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
    if (stored === undefined || this.#file === undefined) return DECLINED;
    return isUsableOnError(stored, this.#terms, request.startTime, plan.stale.has(failure)) ? this.#send('STALE') : DECLINED;
  }

  /** The text for Cache-Status; empty: the configuration does not want it, or there is nothing to say. */
  get cacheStatus(): string {
    if (!this.plan.conf.cache_status || (this.#forwarded !== undefined && this.#askedAt === 0)) return '';
    const freshFor = this.#freshUntil - Date.now();
    return cacheStatusField({ forwarded: this.#forwarded, memberStatus: this.#memberStatus, isStored: this.#isStoring, freshFor });
  }

  /** Ranges of what is stored, or is being stored whole. */
  get allowsRanges(): boolean {
    return (
      this.#isStoring || (this.status !== undefined && this.status !== 'MISS' && this.status !== 'BYPASS' && this.status !== 'EXPIRED')
    );
  }

  #send(status: CacheStatus): Result {
    const { call } = this;
    const file = this.#file;
    if (file === undefined) return 500;
    this.status = status;
    if (status !== 'REVALIDATED') this.#forwarded = undefined;
    this.#file = undefined;
    const { rules } = this.plan;
    const stored = this.stored ?? file.stored;
    const { stored: plain, body } = this.#wanted === undefined ? { stored, body: file } : cut(stored, file, this.#wanted);
    const head = rules.sentHead(plain, Date.now());
    this.#freshUntil = stored.validUntil;
    const found = this.#conditionalStatus(stored);
    if (found === 200) return call.respond(head, body, rules.keepsDate);
    file.close();
    return found === 304 ? call.respond(head.replace(STATUS_LINE, 'HTTP/1.1 304 '), EMPTY, rules.keepsDate) : found;
  }

  /** The conditions of the client are about what is stored. */
  #conditionalStatus(stored: StoredHead): 200 | 304 | 412 {
    const { request, plan } = this;
    if (request.parent !== undefined || !stored.head.startsWith('HTTP/1.1 200')) return 200;
    const modified = plan.rules.modified(stored);
    const since = Number.isNaN(modified) ? 'off' : plan.rules.modifiedSince;
    return conditionalStatus(request, stored.etag === '' ? undefined : stored.etag, modified, since);
  }

  async #renew(stored: StoredHead, received: Received, file: EntryFile | undefined): Promise<void> {
    const renewal = this.plan.rules.renewed(stored, received);
    const since = this.#since ?? this.zone.moment;
    this.stored = { ...stored, ...renewal, generation: since.generation };
    try {
      if (renewal.head.length === stored.head.length) await this.zone.renew(this.#variantName, stored, this.stored);
      else if (file !== undefined) await this.zone.write(this.#variantName, since, this.stored, bytesOf(file));
    } catch (error) {
      this.log.write('crit', `cache "${this.zone.name}" cannot be written (${systemErrorText(error)})`, this.request);
    }
  }

  #store(response: MemberResponse, received: Received, judgement: Judgement): void {
    const { request, zone, log, plan } = this;
    const { key } = this.#place;
    const { rules } = plan;
    const part = rules.storesParts && response.status === 206 ? parsePart(response) : undefined;
    if (part === 'invalid') return;
    const vary = response.header('vary') ?? '';
    const variant = this.call.ignored.has('vary') ? '' : variantOf(vary, request, rules);
    const entry = {
      ...factsOf(received, rules, judgement),
      key,
      vary: variant === '' ? '' : vary,
      variant,
      seed: this.#seed === '' ? randomSeed() : this.#seed,
      tags: tagsOf(response, plan.conf.cache_tag_header.names),
    };
    // The file of the key is that of another variant.
    let name = this.#variantName === this.#name || variant === '' ? this.#name : this.#nameOf(variant);
    if (name !== this.#name && !zone.addVariant(this.#name, name)) {
      // A flood of variants: with another seed nothing leads to those of before, which are removed as unused.
      entry.seed = randomSeed();
      name = this.#name;
    }
    const stored = response.store();
    const body = stored.open();
    stored.release();
    this.#isStoring = true;
    this.#freshUntil = entry.validUntil;
    const file = this.#file;
    const whole = part === undefined ? { head: entry.head, body } : join(file, part, entry, body);
    // It is read while this is stored.
    this.#file = undefined;
    const since = this.#since ?? zone.moment;
    const rule = rules.readsQueries ? (response.header('no-vary-search') ?? '') : '';
    this.storing = changedPlace(zone, since, this.key, request.args, rule, this.#place)
      .then((place) => zone.write(place?.name ?? name, since, { ...entry, head: whole.head, key: place?.key ?? key }, whole.body))
      .catch((error: unknown) => {
        const level = error instanceof MalformedBody ? 'info' : 'crit';
        log.write(level, `the response is not stored in cache "${zone.name}" (${systemErrorText(error)})`, request);
      })
      .finally(() => {
        file?.close();
        this.#isStoring = false;
        this.#release();
      });
  }

  /** The request is over. */
  #leave(): void {
    this.#isOver = true;
    if (this.status !== undefined) this.zone.figures.count(this.status, this.request.bodyBytesSent);
    this.#close();
    if (!this.#isStoring) this.#release();
  }

  #release(): void {
    if (this.#isHeld) this.zone.holds.release(this.#name);
    this.#isHeld = false;
    if (this.#isUpdating) this.zone.endUpdate(this.#name);
    this.#isUpdating = false;
  }

  #close(): void {
    this.#file?.close();
    this.#file = undefined;
  }
}
