import type { Change } from './types.js';

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

/** A version of the history in one line: why it was made, or what it is about. */
export function changeTitle({ message = '', changes, diff, version }: Change): string {
  if (message !== '') return message;
  if (diff !== undefined) return 'Reload of the files';
  return changes?.[0]?.place ?? `version ${version}`;
}

/** Who made it. */
export function changeActor({ actor, diff }: Change): string {
  return actor ?? (diff === undefined ? 'the server' : 'reload');
}

/** Lines of the changes of one version of the history. */
export function changeLines({ changes, diff }: Change): readonly string[] {
  if (diff !== undefined) return diff;
  if (changes === null) return ['too long to be kept'];
  return (changes ?? []).flatMap(({ place, before, after }) => [place, ...marked('-', before), ...marked('+', after)]);
}

function marked(sign: string, text: string | null | undefined): readonly string[] {
  return text === null || text === undefined
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => `${sign} ${line}`);
}
