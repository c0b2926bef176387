import type { ExplainNotes } from '../../core/contract/explain.js';
import type { HttpRequest } from '../../core/contract/http.js';
import type { Directive } from '../../core/contract/tree.js';
import { BREAK, NEXT, runSteps, type Outcome, type Step, type WaitingStep } from './script.js';

/** A directive at work, and one that says what it does. Both change the request in the same way. */
export interface ExplainedDirective {
  readonly run: WaitingStep;
  readonly explain: (request: HttpRequest, notes: ExplainNotes) => Outcome;
}

/** As {@link runSteps}. */
export function explainSteps(steps: readonly ExplainedDirective[], request: HttpRequest, notes: ExplainNotes): Outcome {
  return runSteps(
    steps.map(
      ({ explain }) =>
        (asked) =>
          explain(asked, notes),
    ),
    request,
  );
}

export function explainIf(
  line: Directive,
  isTrue: boolean,
  steps: readonly ExplainedDirective[],
  request: HttpRequest,
  notes: ExplainNotes,
): Outcome {
  notes.say(`${written(line)} is ${isTrue}`, { directive: 'if', condition: isTrue });
  return isTrue ? explainSteps(steps, request, notes) : NEXT;
}

export function sayBreak(notes: ExplainNotes): Outcome {
  notes.say('break: no further directives of this module', { directive: 'break' });
  return BREAK;
}

export function explainedSet(variable: string, run: Step): ExplainedDirective {
  return {
    run,
    explain: (request, notes) => {
      const outcome = run(request);
      const value = request.variable(variable) ?? '';
      notes.say(`set $${variable} = "${value}"`, { directive: 'set', variable, value });
      return outcome;
    },
  };
}

export function explainedRewrite(line: Directive, run: Step): ExplainedDirective {
  return {
    run,
    explain: (request, notes) => {
      const before = request.uri;
      const outcome = run(request);
      notes.say(`${written(line)}: ${effect(before, request, outcome)}`, { directive: 'rewrite', matches: outcome !== NEXT });
      return outcome;
    },
  };
}

function effect(before: string, request: HttpRequest, outcome: Outcome): string {
  if (outcome === NEXT) return `does not match "${before}"`;
  if (outcome > 0) return `responds with ${outcome}, Location: ${request.response.get('Location') ?? ''}`;
  return `"${before}" becomes "${request.uri}${request.args === '' ? '' : `?${request.args}`}"`;
}

export function explainReturn(line: Directive, run: Step): ExplainedDirective['explain'] {
  return (request, notes) => {
    const [status = ''] = line.args.map(({ text }) => text);
    notes.say(written(line), { directive: 'return', ...(/^\d+$/.test(status) && { status: Number(status) }) });
    return run(request);
  };
}

/** The line without its block, as it would be written. Text of the configuration is shown in the form that requests have. */
function written({ name, args }: Directive): string {
  const words = args.map(({ text, quote = '' }) => `${quote}${text}${quote}`);
  const line = [name, ...words]
    .join(' ')
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`);
  return Buffer.from(line.replace(/^if \( ?(.*?) ?\)$/s, 'if ($1)')).latin1Slice();
}
