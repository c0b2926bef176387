import type { MainView } from './main-view.js';
import type { Page, ShownRow } from './pages.js';
import type { TimesView } from './views.js';

/** Fields of a section whose rows have parts. */
const PARTS: Readonly<Record<string, string>> = { upstreams: 'servers', stream_upstreams: 'servers', filters: 'keys' };

/**
 * The JSON of the statistics in pieces: sections, names, and the parts of a name in a field of its own.
 * @param first page, whose rows are in the order of sections and names, as those of the pages after it
 */
export async function* jsonOf(
  main: MainView & { readonly recent?: TimesView },
  first: Page | undefined,
  pageAfter: (next: string) => Promise<Page | undefined>,
): AsyncGenerator<string> {
  const text = new StatisticsText();
  yield JSON.stringify(main).slice(0, -1);
  for (let page = first; page !== undefined; page = page.next === undefined ? undefined : await pageAfter(page.next)) {
    let piece = '';
    for (const row of page.rows) piece += text.row(row);
    if (piece !== '') yield piece;
  }
  yield `${text.end()}}`;
}

/** Text of rows, one after the other, with the brackets between them. */
class StatisticsText {
  #section = '';
  #name: string | undefined;
  #hasParts = false;
  #isOpen = false;

  row({ section, name, part, view }: ShownRow): string {
    let text = '';
    if (section !== this.#section) {
      text += `${this.end()},${JSON.stringify(section)}:{`;
      this.#section = section;
      this.#name = undefined;
    }
    if (name !== this.#name) {
      text += `${this.#endName()}${this.#name === undefined ? '' : ','}${JSON.stringify(name)}:{`;
      this.#name = name;
      this.#isOpen = false;
      this.#hasParts = false;
    }
    return text + (part === undefined ? this.#whole(view) : this.#part(section, part, view));
  }

  end(): string {
    const text = this.#section === '' ? '' : `${this.#endName()}}`;
    this.#section = '';
    this.#name = undefined;
    return text;
  }

  #whole(view: ShownRow['view']): string {
    this.#isOpen = true;
    return JSON.stringify(view).slice(1, -1);
  }

  #part(section: string, part: string, view: ShownRow['view']): string {
    const begin = this.#hasParts ? ',' : `${this.#isOpen ? ',' : ''}"${PARTS[section] ?? 'parts'}":{`;
    this.#hasParts = true;
    return `${begin}${JSON.stringify(part)}:${JSON.stringify(view)}`;
  }

  #endName(): string {
    return this.#name === undefined ? '' : this.#hasParts ? '}}' : '}';
  }
}
