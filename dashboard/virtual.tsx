/** A long list of rows of one height, of which those in sight are in the document. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Rows above and below those in sight. */
const MARGIN = 6;

interface Props<T> {
  readonly label: string;
  readonly rows: readonly T[];
  /** Pixels. */
  readonly height: number;
  readonly head: ComponentChildren;
  readonly row: (row: T, index: number) => ComponentChildren;
  readonly id: (row: T) => string;
}

export function VirtualTable<T>({ label, rows, height, head, row, id }: Props<T>) {
  const place = useRef<HTMLDivElement>(null);
  const [{ top, sight }, setView] = useState({ top: 0, sight: 600 });
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const look = (): void => setView({ top: Math.floor(element.scrollTop / height), sight: element.clientHeight });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [height]);
  const first = Math.max(0, Math.min(top, rows.length - Math.ceil(sight / height)) - MARGIN);
  const last = Math.min(rows.length, first + Math.ceil(sight / height) + 2 * MARGIN);
  return (
    <div class="virtual" ref={place} tabIndex={0} role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div class="virtual-head" role="rowgroup">
        {head}
      </div>
      <div class="virtual-body" role="rowgroup" style={{ height: `${rows.length * height}px` }}>
        {rows.slice(first, last).map((entry, at) => (
          <div
            class="virtual-row"
            role="presentation"
            key={id(entry)}
            style={{ transform: `translateY(${(first + at) * height}px)`, height: `${height}px` }}
          >
            {row(entry, first + at)}
          </div>
        ))}
      </div>
    </div>
  );
}
