import { DECLINED, type HttpRequest, type Result } from '../../core/contract/http.js';
import { conditionalResult } from '../../core/toolkit/conditions.js';
import { ASSETS, PREFIX, type Asset } from './assets.js';
import type { Challenge, CaptchaVerdict } from './challenges.js';
import { pictureText, soundCounts } from './sealed-challenge.js';
import { digestOfPage, enctypeOf, fieldsOf, LONGEST_FORM, returnUri, type Original } from './original-request.js';
import type { Means } from './pass-cookie.js';
import { drawText } from './picture.js';
import { sendJson, sendUncached, wantsPage, type CaptchaSite } from './site.js';
import { soundOf } from './sound.js';

/** A form of which each byte may have become `%25XX`, and the rest. */
const LONGEST_SOLUTION = 6 * LONGEST_FORM;
const MOST_FIELDS = 10;
const TOKEN_PATH = /^(picture|sound)\/([\w-]+)$/;

/** Effects of a solution: the cookie for the client, counts, the state of the request. */
export interface SolutionEffects {
  /** Undefined: there is no such zone any more. */
  accept(request: HttpRequest, challenge: Challenge, means: Means): string | undefined;
  /** Requests of its key in the last second. */
  requests(challenge: Challenge, now: number): number;
  count(request: HttpRequest, zone: string | undefined, verdict: CaptchaVerdict): void;
}

interface Sent extends Original {
  readonly token: string;
  readonly solution: string;
  readonly work: string;
}

/** Responds to everything below the prefix: files of the page, pictures, sounds, solutions. */
export class CaptchaSolutions {
  constructor(
    private readonly site: CaptchaSite,
    private readonly effects: SolutionEffects,
  ) {}

  handle(request: HttpRequest): Result | Promise<Result> {
    if (!request.uri.startsWith(PREFIX) || request.parent !== undefined) return DECLINED;
    const path = request.uri.slice(PREFIX.length);
    if (path === 'solution') return request.method === 'POST' ? this.#check(request) : notAllowed(request, 'POST');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const asset = ASSETS.get(path);
    if (asset !== undefined) return isRead ? sendAsset(request, asset) : notAllowed(request, 'GET, HEAD');
    const [, what, token = ''] = TOKEN_PATH.exec(path) ?? [];
    if (what === undefined) return 404;
    return request.method === 'GET' ? this.#show(request, what as 'picture' | 'sound', token) : notAllowed(request, 'GET');
  }

  #show(request: HttpRequest, what: 'picture' | 'sound', token: string): Result {
    const { challenges } = this.site;
    const challenge = challenges.find(token, request.startTime);
    const isPicture = what === 'picture';
    if (challenge === undefined || challenge.mode === 'pow' || (!isPicture && !challenges.hasSounds(challenge.mode))) return 404;
    if (!challenges.load(challenge, request.startTime)) return 404;
    const { seed } = challenge;
    request.response.allowsRanges = !isPicture;
    return sendUncached(
      request,
      200,
      isPicture ? drawText(pictureText(challenge), seed).png() : soundOf(soundCounts(challenge), seed),
      isPicture ? 'image/png' : 'audio/wav',
    );
  }

  async #check(request: HttpRequest): Promise<Result> {
    const sent = parseSolution(await request.readBody(LONGEST_SOLUTION));
    if (sent === undefined) return 400;
    const { challenges } = this.site;
    const challenge = isForeign(request, sent) ? undefined : challenges.find(sent.token, request.startTime);
    if (challenge === undefined) return this.#reject(request, sent, undefined);
    const solution = { text: readable(sent.solution), work: sent.work, page: digestOfPage(sent) };
    const requests = this.effects.requests(challenge, request.startTime);
    const { verdict, left, means } = challenges.solve(challenge, solution, requests, request.startTime);
    if (verdict === 'right') return this.#right(request, sent, challenge, means);
    if (verdict === 'gone') return this.#reject(request, sent, challenge.zone);
    this.effects.count(request, challenge.zone, verdict);
    if (verdict === 'wait') request.response.set('Retry-After', '60');
    if (verdict === 'harder' || (verdict === 'spent' && wantsPage(request))) {
      const next = challenges.issue({ ...challenge, issued: request.startTime }, requests);
      return this.site.sendNext(request, next, sent, verdict);
    }
    if (wantsPage(request)) return this.site.sendAgain(request, challenge, sent, verdict === 'wait' ? 'wait' : 'wrong');
    return verdict === 'wait'
      ? sendJson(request, 429, { result: verdict })
      : sendJson(request, 403, { result: 'wrong', guesses_left: left });
  }

  #right(request: HttpRequest, sent: Sent, challenge: Challenge, means: Means): Result {
    const cookie = this.effects.accept(request, challenge, means);
    if (cookie === undefined) return this.#reject(request, sent, undefined);
    this.effects.count(request, challenge.zone, 'right');
    request.response.set('Set-Cookie', cookie);
    if (!wantsPage(request) || sent.uri === '') return sendJson(request, 200, { result: 'right' });
    if (sent.enctype !== undefined) return this.site.sendResend(request, sent);
    request.response.set('Location', sent.uri);
    return sendUncached(request, 303, '', 'text/plain');
  }

  #reject(request: HttpRequest, { uri }: Sent, zone: string | undefined): Result {
    this.effects.count(request, zone, 'gone');
    return wantsPage(request) ? this.site.sendGone(request, uri === '' ? '/' : uri) : sendJson(request, 403, { result: 'gone' });
  }
}

/** Form fields, or JSON. Missing fields are empty; undefined: malformed. */
function parseSolution(body: Buffer): Sent | undefined {
  const text = body.toString();
  const fields = text.startsWith('{') ? jsonFields(text) : formFields(text);
  if (fields === undefined) return undefined;
  const field = (name: string): string => fields.get(name) ?? '';
  const target = field('uri');
  return {
    token: field('token'),
    solution: field('solution'),
    work: field('work'),
    enctype: enctypeOf(field('enctype')),
    form: field('form'),
    files: field('files'),
    uri: target === '' ? '' : returnUri(Buffer.from(target).toString('latin1')),
    isCut: field('lost') !== '',
  };
}

/** The first fields of a form. The page sends no others, and a long list of them would cost too much. */
function formFields(text: string): Map<string, string> {
  return new Map(text.split('&', MOST_FIELDS).flatMap((pair) => fieldsOf(pair)));
}

function jsonFields(text: string): Map<string, string> | undefined {
  try {
    const value = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(value.flatMap(([name, field]) => (typeof field === 'string' ? [[name, field] as const] : [])));
  } catch {
    return undefined;
  }
}

const readable = (text: string): string => text.replaceAll(/[\s,;.-]/g, '').toUpperCase();

/**
 * True if another site has sent it, so that it cannot send forms here on behalf of clients. Browsers say where a form is from; without
 * Sec-Fetch-Site (not over TLS) by Origin, which is `null` where the site wants no referrers.
 */
function isForeign(request: HttpRequest, { enctype }: Sent): boolean {
  const fetchSite = request.header('sec-fetch-site');
  if (fetchSite !== undefined) return fetchSite !== 'same-origin';
  const origin = request.header('origin');
  if (origin === undefined) return false;
  if (origin === 'null') return enctype !== undefined;
  return origin.replace(/^[a-z]+:\/\//i, '').toLowerCase() !== request.header('host')?.toLowerCase();
}

function sendAsset(request: HttpRequest, { type, body, etag }: Asset): Result {
  const { response } = request;
  response.set('Cache-Control', 'public, max-age=3600');
  response.set('ETag', etag);
  response.set('X-Content-Type-Options', 'nosniff');
  return conditionalResult(request) ?? request.send(200, body, type);
}

function notAllowed(request: HttpRequest, methods: string): Result {
  request.response.set('Allow', methods);
  return 405;
}
