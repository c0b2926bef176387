import type { HttpRequest, Result } from '../../core/contract/http.js';
import { PREFIX } from './assets.js';
import type { Challenge, Challenges } from './challenges.js';
import type { Original } from './original-request.js';
import { challengePage, gonePage, resendPage, type PageStyle } from './page.js';
import { SHIPPED_PAGE, type PageTemplate } from './page-template.js';
import { chooseLanguage, type Languages, type TextName } from './texts.js';
import type { Mode } from './sealed-challenge.js';
import { PUZZLES } from './work.js';

const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json';
/** Of the page that is shipped; another one may load what it likes. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; worker-src 'self'; base-uri 'none'; frame-ancestors 'self'";

/** Pages and responses of one server. */
export class CaptchaSite {
  constructor(
    readonly challenges: Challenges,
    private readonly languages: Languages,
    private readonly template: PageTemplate,
  ) {}

  /** The response to a client above the limit. */
  sendChallenge(request: HttpRequest, challenge: Challenge, original: Original): Result {
    request.response.set('Retry-After', '1');
    if (!wantsPage(request))
      return sendJson(request, 429, { error: 'captcha', challenge: challengeJson(challenge, this.challenges.hasSounds(challenge.mode)) });
    return this.#sendPage(request, 429, challengePage(this.#style(request, challenge.mode), challenge, original));
  }

  /** The page once more, after a solution. */
  sendAgain(request: HttpRequest, challenge: Challenge, original: Original, error: TextName): Result {
    return this.#sendPage(request, 403, challengePage(this.#style(request, challenge.mode), challenge, original, error));
  }

  /** Another challenge, after a solution that is not enough. */
  sendNext(request: HttpRequest, challenge: Challenge, original: Original, verdict: 'harder' | 'spent'): Result {
    if (wantsPage(request)) return this.sendAgain(request, challenge, original, verdict === 'harder' ? 'harder' : 'renewed');
    return sendJson(request, 403, { result: verdict, challenge: challengeJson(challenge, this.challenges.hasSounds(challenge.mode)) });
  }

  sendGone(request: HttpRequest, uri: string): Result {
    return this.#sendPage(request, 403, gonePage(this.#style(request), uri));
  }

  /** Sends the form again, which script does where there is any. */
  sendResend(request: HttpRequest, original: Original): Result {
    return this.#sendPage(request, 200, resendPage(this.#style(request), original));
  }

  /** @param mode of the challenge in the page; by default there is none */
  #style(request: HttpRequest, mode: Mode = 'pow'): PageStyle {
    const language = chooseLanguage(request.header('accept-language'), this.languages);
    return { template: this.template, language, texts: this.languages.get(language)!, hasSounds: this.challenges.hasSounds(mode) };
  }

  #sendPage(request: HttpRequest, status: number, page: string): Result {
    if (this.template === SHIPPED_PAGE) request.response.set('Content-Security-Policy', POLICY);
    return sendUncached(request, status, page, HTML);
  }
}

/** Clients that do not ask for HTML get JSON. */
export function wantsPage(request: HttpRequest): boolean {
  return /\btext\/html\b/i.test(request.header('accept') ?? '');
}

export function sendJson(request: HttpRequest, status: number, value: unknown): Result {
  return sendUncached(request, status, `${JSON.stringify(value)}\n`, JSON_TYPE);
}

export function sendUncached(request: HttpRequest, status: number, body: string | Uint8Array, type: string): Result {
  const { response } = request;
  response.set('Cache-Control', 'no-store');
  response.set('Referrer-Policy', 'same-origin');
  response.set('X-Content-Type-Options', 'nosniff');
  return request.send(status, body, type);
}

function challengeJson({ token, mode, salt, difficulty }: Challenge, hasSounds: boolean): object {
  const read = { picture: `${PREFIX}picture/${token}`, ...(hasSounds && { sound: `${PREFIX}sound/${token}` }) };
  const work = { algorithm: 'SHA-256', salt, puzzles: PUZZLES, difficulty };
  return { token, mode, ...(mode !== 'pow' && read), ...(mode !== 'image' && { work }), solution: `${PREFIX}solution` };
}
