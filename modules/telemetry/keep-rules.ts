import { argType } from '../../core/contract/arg-type.js';
import { parseTime } from '../../core/contract/duration.js';
import { ArgError } from '../../core/contract/spec.js';

/** Figures of a request that has ended. Time in milliseconds. */
export interface RequestOutcome {
  readonly status: number;
  readonly time: number;
  readonly attempts: number;
}

/** A condition of `telemetry_keep`: `status>=500`. */
export interface KeepRule {
  readonly text: string;
  readonly field: keyof RequestOutcome;
  readonly matches: (value: number) => boolean;
}

const COMPARISONS: Readonly<Record<string, (limit: number) => KeepRule['matches']>> = {
  '>=': (limit) => (value) => value >= limit,
  '<=': (limit) => (value) => value <= limit,
  '>': (limit) => (value) => value > limit,
  '<': (limit) => (value) => value < limit,
  '=': (limit) => (value) => value === limit,
};

/** `status>=500`, `time>1s`, `attempts>1`. */
export const keepRule = argType<KeepRule>({
  kind: 'text',
  form: 'status>=number | time>time | attempts>number',
  parse(text) {
    const [, field, comparison = '', value = ''] = /^(status|time|attempts)(>=|<=|>|<|=)(.+)$/.exec(text) ?? [];
    const limit = field === 'time' ? parseTime(value) : /^\d{1,9}$/.test(value) ? Number(value) : undefined;
    const compare = COMPARISONS[comparison];
    if (field === undefined || limit === undefined || compare === undefined)
      throw new ArgError(`invalid condition "${text}"`, 'as in status>=500, time>1s or attempts>1');
    return { text, field: field as keyof RequestOutcome, matches: compare(limit) };
  },
  print: ({ text }) => text,
});

/** A word of `telemetry_log`. */
export const logRule = argType<KeepRule | 'all' | 'off'>({
  kind: 'text',
  form: `all | off | ${keepRule.form}`,
  parse: (text, context, written) => (text === 'all' || text === 'off' ? text : keepRule.parse(text, context, written)),
  print: (rule) => (typeof rule === 'string' ? rule : rule.text),
});

/** One condition is enough. */
export function isKept(rules: readonly KeepRule[], outcome: RequestOutcome): boolean {
  return rules.some(({ field, matches }) => matches(outcome[field]));
}
