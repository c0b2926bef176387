/** One column of a table. */
export interface Column {
  readonly title: string;
  /** The field of a row that it shows. */
  readonly field?: string;
  /** Its text, if it is not simply that of a field. */
  readonly text?: (row: Row) => string;
}

export type Row = Readonly<Record<string, unknown>>;

/** Rows as aligned columns, for a list of objects. */
export function table(columns: readonly Column[]): (response: unknown) => readonly string[] {
  return (response) => {
    const rows = (Array.isArray(response) ? response : [response]) as readonly Row[];
    const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map((column) => cellOf(column, row)))];
    const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
    return cells.map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  };
}

function cellOf({ field, text }: Column, row: Row): string {
  const shown = text === undefined ? valueText(row[field ?? '']) : text(row);
  // A control character could do anything to a terminal.
  return printable(shown === '' ? '-' : shown);
}

/** A value of a field in one line. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** One line of text without control characters, and without the ones of Unicode that end lines or turn the direction of what follows. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (character) =>
    character < ' ' ? JSON.stringify(character).slice(1, -1) : '\ufffd',
  );
}

/** The fields of an object, one a line; text of several lines is below its name. */
export function fieldLines(response: unknown): readonly string[] {
  const entries = Object.entries(response as Row);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.flatMap(([name, value]) => {
    const lines = valueText(value).replace(/\n$/, '').split('\n').map(printable);
    return lines.length === 1 ? [`${name.padEnd(width)}  ${lines[0] || '-'}`] : [name, ...lines.map((line) => `    ${line}`)];
  });
}
