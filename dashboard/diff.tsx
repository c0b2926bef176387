/** A difference of configurations: lines with + and -, below the place that they are at. */
export function Diff({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return <p class="empty">No difference.</p>;
  return (
    <pre class="diff" tabIndex={0} aria-label="Difference">
      {lines.map((line, at) => (
        <span key={at} class={line.startsWith('+ ') ? 'added' : line.startsWith('- ') ? 'removed' : 'place'}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

/** Lines of the changes of one version of the history. */
export function changeLines(
  changes: readonly { readonly place: string; readonly before?: string | null; readonly after?: string | null }[],
): readonly string[] {
  return changes.flatMap(({ place, before, after }) => [place, ...marked('-', before), ...marked('+', after)]);
}

function marked(sign: string, text: string | null | undefined): readonly string[] {
  return text === null || text === undefined
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => `${sign} ${line}`);
}
