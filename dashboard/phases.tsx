/** The phases of slow requests: where their time went. */
import { ms, percent } from './format.js';
import type { Phase, SlowRequest } from './types.js';

export type Phases = SlowRequest['phases'];

const PHASES: readonly (readonly [phase: Phase, word: string, meaning: string])[] = [
  ['before', 'before', 'reading the request, access rules, delays, modules'],
  ['queue', 'queue', 'waiting for a free connection of the upstream'],
  ['connect', 'connect', 'connecting to a member'],
  ['first_byte', 'first byte', 'waiting for the response of the member'],
  ['body', 'body', 'the rest of the response of the member'],
  ['client', 'client', 'the client still reads'],
];

/** Of all of these requests. */
export function phasesOf(requests: readonly SlowRequest[]): Phases {
  const total = (phase: Phase): number => requests.reduce((sum, { phases }) => sum + phases[phase], 0);
  return Object.fromEntries(PHASES.map(([phase]) => [phase, total(phase)])) as Phases;
}

function sumOf(phases: Phases): number {
  return PHASES.reduce((sum, [phase]) => sum + phases[phase], 0);
}

/** `first byte, 98 %` */
export function mostIn(phases: Phases): string {
  const [phase, word] = PHASES.reduce((most, one) => (phases[one[0]] > phases[most[0]] ? one : most));
  return `${word}, ${percent(phases[phase], sumOf(phases))}`;
}

/** The time of each phase, side by side; the words beside it tell the same. */
export function PhaseBar({ phases }: { readonly phases: Phases }) {
  const sum = sumOf(phases);
  const title = PHASES.filter(([phase]) => phases[phase] > 0).map(([phase, word]) => `${word} ${ms(phases[phase])}`);
  return (
    <span class="phases" role="img" aria-label={title.join(', ')} title={title.join('\n')}>
      {PHASES.map(
        ([phase]) =>
          phases[phase] > 0 && <span key={phase} class={`phase ${phase}`} style={{ width: `${(phases[phase] / sum) * 100}%` }} />,
      )}
    </span>
  );
}

/** Where the time of all of them went. */
export function PhaseSummary({ requests }: { readonly requests: readonly SlowRequest[] }) {
  const phases = phasesOf(requests);
  const sum = sumOf(phases);
  return (
    <div class="inset">
      <PhaseBar phases={phases} />
      <ul class="phase-list">
        {PHASES.map(([phase, word, meaning]) => (
          <li key={phase} title={meaning} class={phases[phase] === 0 ? 'muted' : ''}>
            <span class={`phase ${phase}`} aria-hidden="true" />
            {word} <span class="num">{percent(phases[phase], sum)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
