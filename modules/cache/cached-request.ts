import type { HttpRequest, MemberCall, MemberResponse, Result, Template } from '../../core/contract/http.js';
import { DECLINED } from '../../core/contract/http.js';
import type { CallFailure } from '../../core/contract/member-call.js';
import type { Log } from '../../core/contract/log.js';
import { MalformedBody } from '../../core/contract/http.js';
import { parseHttpDate } from '../../core/contract/http-date.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { conditionalStatus } from '../../core/toolkit/conditions.js';
import type { CacheStatus } from './cache-figures.js';
import type { CacheZone, Moment } from './cache-zone.js';
import type { CacheConf, StaleCase } from './directives.js';
import type { EntryFile, StoredHead } from './entry-file.js';
import { freshnessOf, type Freshness, type Validity } from './freshness.js';

/** Settings of one location for one protocol to members. */
export interface CachePlan {
  readonly conf: CacheConf;
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
const EMPTY = { length: 0, read: (): number => 0, close: (): void => undefined };

/** A request with a cache: from the look into it to the storing of what a member has sent. */
export class CachedRequest {
  status: CacheStatus | undefined = undefined;
  /** Names of the file for the key, and of the one that the response is in: another one for a variant. */
  readonly #name: string;
  #variantName: string;
  /** See {@link StoredHead.seed}; empty: there is no file of the key. */
  #seed = '';
  /** The response that is fresh, or stale: open until it is sent or not needed. */
  #file: EntryFile | undefined = undefined;
  /** For variables, also when the file is closed. */
  stored: StoredHead | undefined = undefined;
  #mayStore = true;
  /** Before the member was asked. */
  #since: Moment | undefined = undefined;
  #isRevalidating = false;
  #isHeld = false;
  #isUpdating = false;
  #isStoring = false;
  #isOver = false;

  constructor(
    readonly request: HttpRequest,
    readonly call: MemberCall,
    private readonly plan: CachePlan,
    private readonly zone: CacheZone,
    readonly key: string,
    private readonly log: Log,
  ) {
    this.#name = this.#variantName = digest(key);
  }

  /** Before a member is asked. DECLINED: one is. */
  async lookUp(isBackground: boolean): Promise<Result> {
    const { request, plan, zone } = this;
    const { conf } = plan;
    request.atEnd(() => this.#leave());
    const ready = zone.purges.ready();
    if (ready !== undefined) await ready;
    const uses = zone.use(this.#name, request.startTime);
    if (isTrue(conf.cache_bypass, request)) {
      this.status = 'BYPASS';
      return this.#toMember();
    }
    await this.#open();
    if (this.stored !== undefined) return this.#withStored(this.stored, isBackground);
    this.status = 'MISS';
    if (uses < conf.cache_min_uses) {
      this.#mayStore = false;
      return this.#toMember();
    }
    return conf.cache_lock ? this.#behindLock() : this.#toMember();
  }

  async #withStored(stored: StoredHead, isBackground: boolean): Promise<Result> {
    const { request, plan, zone } = this;
    const now = request.startTime;
    if (stored.validUntil > now && !isBackground) return this.#send('HIT');
    const staleFor = stored.validUntil + stored.staleWhileRevalidate * 1000;
    const allowsStale = plan.stale.has('updating') || staleFor > now;
    this.status = 'EXPIRED';
    if (isBackground) return this.#toMember();
    if (!zone.beginUpdate(this.#name, now)) return allowsStale ? this.#send('UPDATING') : this.#toMember();
    this.#isUpdating = true;
    if (!allowsStale || !plan.conf.cache_background_update) return this.#toMember();
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
      if (this.stored !== undefined && this.stored.validUntil > Date.now()) return this.#send('HIT');
      this.#close();
    }
    this.#isHeld = true;
    return this.#toMember();
  }

  /** The stored response for the key, and of a response that varies the one for the fields of the request. */
  async #open(): Promise<void> {
    const { zone, request, key } = this;
    try {
      this.#variantName = this.#name;
      this.#file = await zone.open(this.#name, key);
      this.#seed = this.#file?.stored.seed ?? '';
      const vary = this.#file?.stored.vary ?? '';
      const variant = variantOf(vary, request);
      if (this.#file !== undefined && this.#file.stored.variant !== variant) {
        this.#file.close();
        this.#variantName = this.#nameOf(variant);
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
    return digest(`${this.key}\n${this.#seed}\n${variant}`);
  }

  /** Goes on to a member, which gets no conditions of the client. */
  #toMember(): Result {
    const { request, call, plan, stored } = this;
    this.#since = this.zone.moment;
    for (const name of CLIENTS_CONDITIONS) request.upstream.remove(name);
    if (call.method === 'HEAD' && plan.conf.cache_convert_head) call.method = 'GET';
    if (!plan.conf.cache_revalidate || stored === undefined) return DECLINED;
    if (stored.etag !== '') request.upstream.set('If-None-Match', stored.etag);
    const modified = fieldIn(stored.head, 'last-modified');
    if (modified !== '') request.upstream.set('If-Modified-Since', modified);
    this.#isRevalidating = stored.etag !== '' || modified !== '';
    return DECLINED;
  }

  /** The response of a member is here. DECLINED: it goes to the client. */
  responded(response: MemberResponse): Result | Promise<Result> {
    const { request, plan, call, stored } = this;
    const now = Date.now();
    const fresh = freshnessOf(response, plan.validity, call.ignored, now);
    if (response.status === 304 && this.#isRevalidating && stored !== undefined) {
      return this.#renew(stored, fresh, now).then(() => this.#send('REVALIDATED'));
    }
    if (stored !== undefined && plan.stale.has(`http_${response.status}` as StaleCase)) {
      response.discard();
      return this.#send('STALE');
    }
    this.#close();
    if (this.#mayStore && !Number.isNaN(fresh.seconds) && !isTrue(plan.conf.no_cache, request)) this.#store(response, fresh, now);
    return DECLINED;
  }

  /** No member has responded. DECLINED: the client gets the error. */
  failed(failure: CallFailure): Result {
    const { stored, plan, request } = this;
    if (stored === undefined || this.#file === undefined) return DECLINED;
    const staleFor = stored.validUntil + stored.staleIfError * 1000;
    return plan.stale.has(failure) || staleFor > request.startTime ? this.#send('STALE') : DECLINED;
  }

  /** Ranges of what is stored, or is being stored whole. */
  get allowsRanges(): boolean {
    return (
      this.#isStoring || (this.status !== undefined && this.status !== 'MISS' && this.status !== 'BYPASS' && this.status !== 'EXPIRED')
    );
  }

  #send(status: CacheStatus): Result {
    const { request, call } = this;
    const file = this.#file;
    if (file === undefined) return 500;
    this.status = status;
    this.#file = undefined;
    const { head, etag, modified } = file.stored;
    const isWhole = head.startsWith('HTTP/1.1 200');
    const found =
      isWhole && request.parent === undefined
        ? conditionalStatus(request, etag === '' ? undefined : etag, modified, Number.isNaN(modified) ? 'off' : 'exact')
        : 200;
    if (found === 200) return call.respond(head, file);
    file.close();
    return found === 304 ? call.respond(head.replace(STATUS_LINE, 'HTTP/1.1 304 '), EMPTY) : found;
  }

  async #renew(stored: StoredHead, { seconds, staleWhileRevalidate, staleIfError }: Freshness, now: number): Promise<void> {
    // Validity by status is that of the stored response.
    const configured = this.plan.validity.get(Number(stored.head.slice(9, 12))) ?? this.plan.validity.get('any') ?? 0;
    const valid = Number.isNaN(seconds) ? configured / 1000 : seconds;
    const generation = this.#since?.generation ?? 0;
    this.stored = { ...stored, generation, date: now, born: now, validUntil: now + valid * 1000, staleWhileRevalidate, staleIfError };
    try {
      await this.zone.renew(this.#variantName, stored, this.stored);
    } catch (error) {
      this.log.write('crit', `cache "${this.zone.name}" cannot be written (${systemErrorText(error)})`, this.request);
    }
  }

  #store(response: MemberResponse, fresh: Freshness, now: number): void {
    const { request, zone, key, log, plan } = this;
    const vary = response.header('vary') ?? '';
    const variant = this.call.ignored.has('vary') ? '' : variantOf(vary, request);
    const { seconds, staleWhileRevalidate, staleIfError } = fresh;
    const etag = response.header('etag') ?? '';
    const modified = parseHttpDate(response.header('last-modified') ?? '');
    const head = headOf(response);
    const entry = {
      key,
      vary: variant === '' ? '' : vary,
      variant,
      seed: this.#seed === '' ? randomSeed() : this.#seed,
      etag,
      tags: tagsOf(response, plan.conf.cache_tag_header.names),
      modified,
      date: now,
      born: now,
      flags: 0,
      validUntil: now + seconds * 1000,
      staleWhileRevalidate,
      staleIfError,
      head,
    };
    // The file of the key is that of another variant.
    const name = this.#variantName === this.#name || variant === '' ? this.#name : this.#nameOf(variant);
    const stored = response.store();
    const body = stored.open();
    stored.release();
    this.#isStoring = true;
    zone
      .write(name, this.#since ?? zone.moment, entry, body)
      .catch((error: unknown) => {
        const level = error instanceof MalformedBody ? 'info' : 'crit';
        log.write(level, `the response is not stored in cache "${zone.name}" (${systemErrorText(error)})`, request);
      })
      .finally(() => {
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

/** One of the texts is neither empty nor `0`. */
export function isTrue(conditions: { readonly conditions: readonly Template[] } | undefined, request: HttpRequest): boolean {
  if (conditions === undefined) return false;
  return conditions.conditions.some((template) => {
    const text = template.of(request);
    return text !== '' && text !== '0';
  });
}

export function digest(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('md5', Buffer.from(text, 'latin1'), 'hex');
}

function randomSeed(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(8).toString('hex');
}

/** Fields that frame the message or are about one connection. */
const NOT_STORED = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function headOf(response: MemberResponse): string {
  const lines = response.headers().filter(([name]) => !NOT_STORED.has(name.toLowerCase()));
  // The engine knows the reason phrases.
  return `HTTP/1.1 ${response.status} \r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Tags of a response, separated by spaces: those of `Cache-Tag` have commas between them, and those of `Surrogate-Key` spaces. */
function tagsOf(response: MemberResponse, names: readonly string[]): string {
  const tags = names.flatMap((name) => (response.header(name.toLowerCase()) ?? '').split(/[\s,]+/));
  return [...new Set(tags)].filter((tag) => tag !== '').join(' ');
}

/** Value of a field in a head, empty: there is none. */
function fieldIn(head: string, lowerName: string): string {
  return new RegExp(`\r\n${lowerName}:[ \t]*([^\r]*)`, 'i').exec(head)?.[1] ?? '';
}

/** Digest of the fields that Vary names. Empty: it names none. */
function variantOf(vary: string, request: HttpRequest): string {
  const names = vary
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return '';
  return digest(names.map((name) => `${name}: ${(request.header(name) ?? '').replace(/\s+/g, '')}`).join('\n'));
}
