/** Times of files whose texts are remembered: the files of a site mostly have few. */
const MOST = 1000;

/** Fields of a response about a file. */
interface Texts {
  /** Last-Modified (RFC 9110, 5.6.7). */
  readonly date: string;
  /** ETag, as nginx makes it of time and size. */
  readonly etag: string;
  /** Bytes. */
  readonly size: number;
}

/** Texts about files, each made once for files of one time and size that follow each other. */
export class FileTexts {
  readonly #known = new Map<number, Texts>();

  /** @param seconds since 1970, of its last change @param size bytes */
  of(seconds: number, size: number): Texts {
    const known = this.#known.get(seconds);
    if (known?.size === size) return known;
    if (known === undefined && this.#known.size >= MOST) this.#known.clear();
    const date = known?.date ?? new Date(seconds * 1000).toUTCString();
    const texts = { date, etag: `"${seconds.toString(16)}-${size.toString(16)}"`, size };
    this.#known.set(seconds, texts);
    return texts;
  }
}
