/** A table that scrolls in its panel. On a narrow screen each row is a block, and the roles say that it is a table all the same. */
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
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, isNumber }) => (
              <th key={title} role="columnheader" scope="col" class={isNumber === true ? 'num' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={id(row)} role="row">
              {columns.map(({ title, isNumber, of }, at) =>
                at === 0 ? (
                  <th key={title} role="rowheader" scope="row">
                    {of(row)}
                  </th>
                ) : (
                  <td key={title} role="cell" data-title={title} class={isNumber === true ? 'num' : undefined}>
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
