/** HTML as text: what is filled into a template is escaped, unless it is HTML itself. */

/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A template with values: text is escaped, lists are joined, undefined is nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly (Html | string | readonly Html[] | undefined)[]): Html {
  const filled = values.map((value, i) => textOf(value) + (strings[i + 1] ?? ''));
  return new Html((strings[0] ?? '') + filled.join(''));
}

function textOf(value: Html | string | readonly Html[] | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
  return value instanceof Html ? value.text : value.map(({ text }) => text).join('');
}

/** Text of descriptions: what is between backquotes is code. */
export function prose(text = ''): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}
