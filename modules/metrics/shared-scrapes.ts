import { TextExposition, type Exposition, type Format } from './exposition.js';
import type { FigurePage } from '../../core/toolkit/figures/page.js';
import { ProtobufExposition } from './protobuf-exposition.js';

/** How long a reader may take for a scrape. Milliseconds. */
const LONGEST = 60_000;
/** Scrapes that readers still read, of which the oldest is cut off for another one. */
const MOST = 4;

/** Asks for a page: the first one without `next`. Undefined: the listing is not known any more. */
export type AskPage = (next: string | undefined) => Promise<FigurePage | undefined>;

type Piece = Uint8Array | string;

/** Pieces of a page as one. */
function joined(pieces: readonly Piece[]): Piece {
  return typeof pieces[0] === 'object' ? Buffer.concat(pieces as readonly Uint8Array[]) : pieces.join('');
}

/** A scrape that is being made, or was made for readers who still read it. */
class Scrape {
  readonly #pieces: Piece[] = [];
  readonly #begun = Date.now();
  #state: 'open' | 'whole' | 'failed' = 'open';
  #failure: unknown;
  #readers = 0;
  #changed = Promise.withResolvers<void>();

  constructor(readonly format: Format) {}

  get isRead(): boolean {
    return this.#readers > 0;
  }

  /** Asks for all pages. Never rejects. */
  async make(ask: AskPage): Promise<void> {
    const text: Exposition = this.format === 'protobuf' ? new ProtobufExposition() : new TextExposition(this.format);
    try {
      let page: FigurePage | undefined;
      do {
        page = await ask(page?.next);
        if (page === undefined) throw new Error('the scrape took too long: the data plane has begun others since');
        this.#add(joined(page.families.map((family) => text.family(family))));
      } while (page.next !== undefined && this.#state === 'open');
      if (this.#state !== 'open') return;
      this.#state = 'whole';
      this.#add(text.end());
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    if (this.#state === 'failed') return;
    this.#state = 'failed';
    this.#failure = error;
    this.#wake();
  }

  /** Resolves when there is something to read. @throws what {@link AskPage} has thrown */
  async ready(): Promise<void> {
    while (this.#state === 'open' && this.#pieces.length === 0) await this.#changed.promise;
    if (this.#state === 'failed') throw this.#failure;
  }

  /** The whole text. An error cuts it off. */
  async *read(): AsyncGenerator<Piece> {
    this.#readers++;
    try {
      for (let at = 0; ;) {
        if (this.#state === 'failed') throw this.#failure;
        if (Date.now() - this.#begun > LONGEST) throw new Error(`a client has not read the metrics within ${LONGEST / 1000} seconds`);
        const piece = this.#pieces[at];
        if (piece !== undefined) {
          at++;
          if (piece.length > 0) yield piece;
        } else if (this.#state === 'whole') return;
        else await this.#changed.promise;
      }
    } finally {
      this.#readers--;
    }
  }

  #add(piece: Piece): void {
    this.#pieces.push(piece);
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

/** One scrape at a time: a client that comes while one of its format is made shares it. */
export class SharedScrapes {
  readonly #open = new Map<Format, Scrape>();
  #scrapes: Scrape[] = [];
  #turn: Promise<void> = Promise.resolve();

  /** @returns the text in pieces, when the first one is there @throws what `ask` has thrown for the first page */
  async read(format: Format, ask: AskPage): Promise<AsyncGenerator<Piece>> {
    const scrape = this.#open.get(format) ?? this.#begin(format, ask);
    await scrape.ready();
    return scrape.read();
  }

  #begin(format: Format, ask: AskPage): Scrape {
    const scrape = new Scrape(format);
    this.#open.set(format, scrape);
    this.#turn = this.#turn.then(async () => {
      await scrape.make(ask);
      this.#open.delete(format);
    });
    this.#scrapes = this.#scrapes.filter(({ isRead }) => isRead);
    this.#scrapes.push(scrape);
    if (this.#scrapes.length > MOST) this.#scrapes.shift()?.fail(new Error('too slow: later scrapes needed the room'));
    return scrape;
  }
}
