import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { HttpRequest } from '../../core/contract/http.js';
import type { Secrets } from './secrets.js';

/** Bytes of a signature, and characters as they are written. */
const SIGNATURE = 24;
const WRITTEN = (SIGNATURE * 4) / 3;
const MOST_COOKIES = 8;
/** Time, means, random characters, signature. */
const FORM = /^([1-9a-z][0-9a-z]{4,8})\.([rw])\.([\w-]{8})\.([\w-]+)$/;

/** How a challenge was solved: a picture or sounds, or work. */
export type Means = 'read' | 'work';

/** The cookie of clients that have solved a challenge of one zone: a time and a signature over zone, key and time. No two solutions give the same one. */
export class PassCookie {
  /** Of the cookie. A zone's name may have any characters, and case makes no difference in the name of a cookie. */
  readonly name: string;

  constructor(
    private readonly zone: string,
    private readonly secrets: () => Secrets,
  ) {
    this.name = `captcha_${zone.replaceAll(/[^a-z0-9-]/g, (character) => `_${Buffer.from(character).toString('hex')}_`)}`;
  }

  /**
   * Text for Set-Cookie.
   * @param key digest of the key that was challenged
   * @param ms how long it is valid
   */
  issue(key: string, means: Means, now: number, ms: number, isSecure: boolean): string {
    const seconds = Math.max(Math.ceil(ms / 1000), 1);
    const claims = `${(Math.floor(now / 1000) + seconds).toString(36)}.${means === 'read' ? 'r' : 'w'}.${randomBytes(6).toString('base64url')}`;
    const signature = this.#sign(this.secrets()[0]!, key, claims).toString('base64url');
    return `${this.name}=${claims}.${signature}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /**
   * The signature of a cookie of this key that is not expired; empty: none. All signatures are made and compared, whatever the cookie is.
   * @param isReading work is not enough
   */
  find(request: HttpRequest, key: string, isReading: boolean, now: number): string {
    let found = '';
    for (const value of this.#valuesOf(request)) if (this.#isValid(value, key, isReading, now)) found = value.slice(-WRITTEN);
    return found;
  }

  /** Other sites of the domain can set cookies of this name, which come first. One text at least. */
  #valuesOf(request: HttpRequest): readonly string[] {
    const pairs = (request.header('cookie') ?? '').split(';').map((pair) => pair.trim());
    const values = pairs.filter((pair) => pair.startsWith(`${this.name}=`)).map((pair) => pair.slice(this.name.length + 1));
    return values.length === 0 ? [''] : values.slice(0, MOST_COOKIES);
  }

  #isValid(value: string, key: string, isReading: boolean, now: number): boolean {
    const [, expires = '', means = '', random = '', written = ''] = FORM.exec(value) ?? [];
    const shown = Buffer.alloc(SIGNATURE);
    if (written.length === WRITTEN) shown.write(written, 'base64url');
    let isRight = false;
    for (const secret of this.secrets())
      isRight = timingSafeEqual(this.#sign(secret, key, `${expires}.${means}.${random}`), shown) || isRight;
    return isRight && (means === 'r' || !isReading) && Number.parseInt(expires, 36) * 1000 > now;
  }

  #sign(secret: string, key: string, claims: string): Buffer {
    const text = `captcha cookie\0${this.zone}\0${claims}\0`;
    return createHmac('sha256', secret).update(text).update(key, 'latin1').digest().subarray(0, SIGNATURE);
  }
}
