/** Texts that are remembered; the files of a site mostly have few times. */
const MOST = 1000;

/** Dates of header fields (RFC 9110, 5.6.7), each made once. */
export class HttpDates {
  readonly #texts = new Map<number, string>();

  /** @param seconds since 1970 */
  of(seconds: number): string {
    const known = this.#texts.get(seconds);
    if (known !== undefined) return known;
    if (this.#texts.size >= MOST) this.#texts.clear();
    const text = new Date(seconds * 1000).toUTCString();
    this.#texts.set(seconds, text);
    return text;
  }
}
