import { action } from '../../core/contract/control.js';
import type { ExplainNotes } from '../../core/contract/explain.js';
import { DECLINED, DONE, type HttpHandlers, type HttpRequest, type Result, type Scope, type Template } from '../../core/contract/http.js';
import { shownKey } from '../../core/toolkit/limits.js';
import { Log } from '../../core/contract/log.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Metrics } from '../../core/contract/metrics.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Zones } from '../../core/contract/zones.js';
import type { ZoneSize } from '../../core/contract/args.js';
import { CaptchaSolutions, type SolutionEffects } from './solutions.js';
import { Challenges, USE_RECORDS } from './challenges.js';
import { digestOf, type Mode } from './sealed-challenge.js';
import { directives } from './directives.js';
import { digestOfPage, NO_FORM, originalOf, type Original } from './original-request.js';
import { PassCookie } from './pass-cookie.js';
import { SHIPPED_PAGE } from './page-template.js';
import { SECRET_HINT, SHORTEST_SECRET, type Secrets } from './secrets.js';
import { CaptchaSite, wantsPage } from './site.js';
import { SHIPPED } from './texts.js';
import { HIGHEST_RATE } from './sliding-second.js';
import { CaptchaZone, type ZoneFigures } from './captcha-zone.js';

type CaptchaScope = Scope<typeof directives>;

/** Characters of a key in the zone. */
const LONGEST_KEY = 128;
/** Bytes of the name of a zone: it is a part of tokens. */
const LONGEST_ZONE = 64;
/** Requests per second that a cookie allows, as a multiple of the rate without one, and at least. */
const VERIFIED = { factor: 10, least: 100 } as const;
/** Memory for challenges without `captcha_session_zone`. */
const SESSIONS = 2 ** 20;
/** Memory for a time of each session zone. */
const FORGOTTEN = 2 ** 14;

/** Limit and challenge of one scope. */
interface Plan {
  readonly zone: CaptchaZone;
  readonly key: Template;
  readonly rate: number;
  /** Requests per second with the cookie of a solution. */
  readonly verified: number;
  readonly mode: Mode;
  readonly expire: number;
  readonly bypass: readonly Template[];
  readonly cookie: PassCookie;
  readonly site: CaptchaSite;
}

/** A zone as it was compiled last, and how many scopes use it. */
interface UsedZone {
  zone: CaptchaZone;
  uses: number;
}

/** Under this key a request has its `$captcha_state`. */
const STATE = {};

/** Challenges for clients above a rate: a picture, sounds, or work for the browser. */
@httpModule({
  name: 'srv_http_captcha_module',
  api: '1.2',
  plane: 'data',
  directives,
  // Before limit_req, which would reject these requests.
  phases: { post_read: 200, preaccess: 90 },
  variables: { captcha_state: (request) => request.get(STATE) as string | undefined },
})
export class Captcha {
  readonly #sessions: ZoneSize;
  /** By session zone the time of the newest challenge of which attempts may be unknown: it has dropped them, or is as old as that. */
  readonly #forgotten: ZoneSize;
  readonly #zones = new Map<string, UsedZone>();
  #ownSecret: Secrets | undefined;

  constructor(
    private readonly zones: Zones,
    private readonly metrics: Metrics,
    private readonly info: ServerInfo,
    private readonly log: Log,
  ) {
    this.#sessions = zones.own('sessions', SESSIONS);
    this.#forgotten = zones.own('forgotten', FORGOTTEN);
  }

  /** Solutions come to a path of their own, whatever the locations are. */
  compileServer(scope: CaptchaScope): HttpHandlers | undefined {
    const { captcha_zone: declared } = scope.conf;
    if (declared.length === 0) return undefined;
    const secrets = this.#secretsOf(scope);
    const zones = new Map(declared.map(({ zone, sync }) => [zone.name, this.#zoneOf(zone, scope, sync !== undefined)]));
    const cookies = new Map(declared.map(({ zone: { name } }) => [name, new PassCookie(name, secrets)]));
    const effects: SolutionEffects = {
      accept: (request, { zone, key, expire }, means) => cookies.get(zone)?.issue(key, means, request.startTime, expire, isSecure(request)),
      requests: ({ zone, counted }, now) => zones.get(zone)?.requests.look(counted, now) ?? 0,
      count(request, zone, verdict) {
        request.set(STATE, verdict === 'right' ? 'SOLVED' : verdict === 'gone' ? 'REJECTED' : 'WRONG');
        if (zone !== undefined) zones.get(zone)?.solved(verdict);
      },
    };
    const solutions = new CaptchaSolutions(this.#siteOf(scope, secrets), effects);
    return { post_read: (request) => solutions.handle(request), explain: { post_read: () => DECLINED } };
  }

  compile(scope: CaptchaScope): HttpHandlers | undefined {
    if (!scope.conf.captcha) return undefined;
    const plan = this.#planOf(scope);
    return {
      preaccess: (request) => this.#check(request, plan),
      explain: { preaccess: (request, notes) => this.#explain(request, plan, notes) },
    };
  }

  @action('captcha.zones')
  figures(): readonly ZoneFigures[] {
    return Array.from(this.#zones.values(), ({ zone }) => zone.figures()).toSorted((one, other) => (one.zone < other.zone ? -1 : 1));
  }

  #planOf(scope: CaptchaScope): Plan {
    const {
      captcha_limit_rate: limit,
      captcha_zone: declared,
      captcha_mode: mode,
      captcha_expire: expire,
      captcha_bypass: bypass,
    } = scope.conf;
    if (limit === undefined) return scope.fail('"captcha" needs "captcha_limit_rate"', 'captcha', 'captcha_limit_rate ZONE REQUESTS;');
    const found = declared.find(({ zone }) => zone.name === limit.zone);
    if (found === undefined)
      return scope.fail(`zero size shared memory zone "${limit.zone}"`, 'captcha_limit_rate', 'declare it: captcha_zone $key zone=…;');
    const secrets = this.#secretsOf(scope);
    const cookie = new PassCookie(limit.zone, secrets);
    const conditions = bypass?.conditions ?? [];
    const zone = this.#zoneOf(found.zone, scope, found.sync !== undefined);
    const { rate, verified = Math.min(HIGHEST_RATE, Math.max(VERIFIED.least, rate * VERIFIED.factor)) } = limit;
    return { zone, key: found.key, rate, verified, mode, expire, bypass: conditions, cookie, site: this.#siteOf(scope, secrets) };
  }

  #siteOf(scope: CaptchaScope, secrets: () => Secrets): CaptchaSite {
    const { captcha_session_zone: zone, captcha_text_file: texts, captcha_redirect_uri_file: page } = scope.conf;
    const { name } = zone ?? this.#sessions;
    const forgotten = this.zones.records(this.#forgotten, { fields: ['issued'] });
    // New memory, as after a start, has nothing about the challenges before, which may have been solved.
    if (forgotten.get(name) === undefined) forgotten.update(name, later, Date.now());
    const evicted = (_: string, { issued }: { readonly issued: number }): void => void forgotten.update(name, later, issued);
    const records = this.zones.records(zone ?? this.#sessions, { ...USE_RECORDS, evicted });
    const template = page?.in(scope, 'captcha_redirect_uri_file') ?? SHIPPED_PAGE;
    return new CaptchaSite(
      new Challenges(records, secrets, () => forgotten.get(name)?.issued ?? 0, scope.conf.captcha_sound),
      texts?.in(scope, 'captcha_text_file') ?? SHIPPED,
      template,
    );
  }

  #zoneOf(size: ZoneSize, scope: CaptchaScope, isShared: boolean): CaptchaZone {
    if (Buffer.byteLength(size.name) > LONGEST_ZONE)
      scope.fail(`the name of zone "${size.name}" is too long`, 'captcha_zone', `at most ${LONGEST_ZONE} bytes`);
    const zone = CaptchaZone.open(size, this.zones, this.metrics.group(size.name, scope), isShared);
    const used = this.#zones.get(size.name) ?? { zone, uses: 0 };
    used.zone = zone;
    used.uses++;
    this.#zones.set(size.name, used);
    const release = (): void => {
      if (--used.uses === 0) this.#zones.delete(size.name);
    };
    scope.register({ abort: release, release });
    return zone;
  }

  #secretsOf(scope: CaptchaScope): () => Secrets {
    const { captcha_secret: line } = scope.conf;
    if (line === undefined) return () => (this.#ownSecret ??= [this.info.secret('captcha', 32).toString('hex')]);
    const written = [line.secret, line.former].filter((one) => one !== undefined);
    if ((line.file === undefined) === (written.length === 0))
      scope.fail('"captcha_secret" needs one or two secrets, or "file="', 'captcha_secret');
    if (written.some((one) => Buffer.byteLength(one) < SHORTEST_SECRET))
      scope.fail('the secret is too short', 'captcha_secret', SECRET_HINT);
    const secrets = line.file?.in(scope, 'captcha_secret') ?? written;
    return () => secrets;
  }

  #check(request: HttpRequest, plan: Plan): Result | Promise<Result> {
    if (request.parent !== undefined || request.get(STATE) !== undefined) return DECLINED;
    for (const condition of plan.bypass) if (isSet(condition.of(request))) return passed(request, 'BYPASSED');
    const key = keyOf(request, plan);
    if (key === '') return DECLINED;
    const count = plan.zone.requests.add(key, request.startTime);
    return count <= plan.rate ? passed(request, 'PASSED') : this.#checkCookie(request, key, count, plan);
  }

  #checkCookie(request: HttpRequest, key: string, count: number, plan: Plan): Result | Promise<Result> {
    const digest = digestOf(plan.zone.name, key);
    const cookie = plan.cookie.find(request, digest, plan.mode === 'image', request.startTime);
    // Each cookie has a rate of its own: a flood needs many solutions, and clients of one address do not use up each other's.
    if (cookie !== '' && plan.zone.requests.add(cookie, request.startTime) <= plan.verified) {
      plan.zone.verified();
      return passed(request, 'VERIFIED');
    }
    request.set(STATE, 'CHALLENGED');
    plan.zone.challenged();
    if (request.method === 'HEAD') return sendHead(request);
    if (!wantsPage(request)) return this.#challenge(request, key, count, plan, NOTHING);
    const original = originalOf(request);
    if (!(original instanceof Promise)) return this.#challenge(request, key, count, plan, original);
    return original.then((known) => this.#challenge(request, key, count, plan, known));
  }

  #challenge(request: HttpRequest, counted: string, count: number, { site, zone, mode, expire, rate }: Plan, original: Original): Result {
    this.log.write('info', `captcha: ${count} requests in a second, challenged by zone "${zone.name}"`, request);
    const page = digestOfPage(original);
    const key = digestOf(zone.name, counted);
    const claims = { issued: request.startTime, zone: zone.name, rate, counted, key, mode, expire, page };
    return site.sendChallenge(request, site.challenges.issue(claims, count), original);
  }

  /** Result of the request at this moment, without counting it. */
  #explain(request: HttpRequest, plan: Plan, notes: ExplainNotes): Result {
    const key = keyOf(request, plan);
    const { zone, rate } = plan;
    const requests = key === '' ? 0 : zone.requests.look(key, request.startTime) + 1;
    const isOver = requests > rate && !this.#isVerified(request, key, plan);
    const state = key === '' ? 'the key is empty, and nothing is limited' : `request ${requests} of ${rate} in this second`;
    notes.say(`captcha ${zone.name}: ${state}`, { zone: zone.name, key: shownKey(key), rate, requests });
    return isOver ? 429 : DECLINED;
  }

  #isVerified(request: HttpRequest, key: string, { zone, cookie, mode, verified }: Plan): boolean {
    const found = cookie.find(request, digestOf(zone.name, key), mode === 'image', request.startTime);
    return found !== '' && zone.requests.look(found, request.startTime) < verified;
  }
}

/** A long key counts by its digest: a key that is not counted would be a way past the limit. */
function keyOf(request: HttpRequest, { key }: Plan): string {
  const text = key.of(request);
  return text.length <= LONGEST_KEY ? text : digestOf(text);
}

function later(record: { issued: number }, issued: number): boolean {
  if (issued <= record.issued) return false;
  record.issued = issued;
  return true;
}

const NOTHING: Original = { uri: '', ...NO_FORM, isCut: false };

const isSet = (text: string): boolean => text !== '' && text !== '0';
const isSecure = ({ connection }: HttpRequest): boolean => connection.tls !== undefined;

function passed(request: HttpRequest, state: string): Result {
  request.set(STATE, state);
  return DECLINED;
}

/** As the page would begin. No challenge is made for it. */
function sendHead(request: HttpRequest): Result {
  request.response.set('Cache-Control', 'no-store');
  request.response.set('Retry-After', '1');
  request.respond(429, wantsPage(request) ? 'text/html; charset=utf-8' : 'application/json').end();
  return DONE;
}
