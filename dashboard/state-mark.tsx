/** A state as shape, colour and word. */

const SHAPES: Readonly<Record<string, readonly [tone: string, path: string]>> = {
  up: ['good', 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z'],
  checking: ['calm', 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6z'],
  resolving: ['calm', 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6z'],
  draining: ['calm', 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 2v6a3 3 0 0 1 0-6z'],
  down: ['calm', 'M1.5 1.5h9v9h-9z'],
  unavail: ['warn', 'M6 .8 11.6 11H.4z'],
  unhealthy: ['bad', 'M3 .9 6 3.9l3-3L11.1 3l-3 3 3 3L9 11.1l-3-3-3 3L.9 9l3-3-3-3z'],
  warn: ['warn', 'M6 .8 11.6 11H.4z'],
  bad: ['bad', 'M3 .9 6 3.9l3-3L11.1 3l-3 3 3 3L9 11.1l-3-3-3 3L.9 9l3-3-3-3z'],
  note: ['calm', 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6z'],
  good: ['good', 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z'],
};
const UNKNOWN = ['calm', 'M1 5h10v2H1z'] as const;
const ALIAS: Readonly<Record<string, string>> = {
  in_sync: 'up',
  ready: 'up',
  behind: 'unavail',
  diverged: 'unhealthy',
  away: 'unhealthy',
  slow: 'unavail',
  failing: 'unavail',
};

export function Shape({ state }: { readonly state: string }) {
  const [tone, path] = SHAPES[ALIAS[state] ?? state] ?? UNKNOWN;
  return (
    <svg class={`shape ${tone}`} viewBox="0 0 12 12" width="10" height="10" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

export function State({ state, word = state }: { readonly state: string; readonly word?: string }) {
  const [tone] = SHAPES[ALIAS[state] ?? state] ?? UNKNOWN;
  return (
    <span class={`state ${tone}`}>
      <Shape state={state} />
      {word}
    </span>
  );
}
