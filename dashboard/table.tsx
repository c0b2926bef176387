/** A table that scrolls in its panel. */
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly of: (row: T) => ComponentChildren;
}

interface Props<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly id: (row: T) => string;
}

/** The first column names the row. */
export function Table<T>({ label, rows, columns, id }: Props<T>) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber === true ? 'num' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map(({ title, isNumber, of }, at) =>
                at === 0 ? (
                  <th key={title} scope="row">
                    {of(row)}
                  </th>
                ) : (
                  <td key={title} class={isNumber === true ? 'num' : undefined}>
                    {of(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** In the place of a table without rows. */
export function Nothing({ error, children }: { readonly error: string; readonly children: ComponentChildren }) {
  return <p class="empty">{error === '' ? children : `Not available: ${error}`}</p>;
}
