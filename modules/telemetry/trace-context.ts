/** Trace contexts in fields of requests: W3C Trace Context (traceparent, tracestate), and B3 in one field or in several. */

/** The forms in which a context comes and goes. `baggage` is passed on where it is named, and removed where it is not. */
export const PROPAGATORS = ['tracecontext', 'baggage', 'b3', 'b3multi'] as const;
export type Propagator = (typeof PROPAGATORS)[number];

/** The context that a client has sent. */
export interface RemoteContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  /** A tracestate belongs to it: {@link validState}. */
  readonly hasState: boolean;
}

/** Value of a field of the request by its name in lower case; several lines are joined with `, `. */
export type ReadField = (lowerName: string) => string | undefined;

const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
/** Version, trace-id, parent-id, trace-flags. Later versions may have more parts, version 00 has not. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
/** Second digit of flags with the bit `sampled`. */
const ODD_DIGITS = '13579bdf';
/** Shortest and longest value that is looked at. */
const LEAST_PARENT = 55;
const LONGEST_PARENT = 256;
const B3_SINGLE = /^([0-9a-f]{16}|[0-9a-f]{32})-([0-9a-f]{16})(?:-([01d])(?:-[0-9a-f]{16})?)?$/;
const HEX_TRACE = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/;
const HEX_SPAN = /^[0-9a-f]{16}$/;

/** Limits of W3C: members of tracestate, and bytes that have to be passed on. */
const MOST_STATES = 32;
const LONGEST_STATE = 512;
/** Limits of W3C Baggage. */
const MOST_BAGGAGE = 64;
const LONGEST_BAGGAGE = 8192;
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const BAGGAGE_MEMBER =
  /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*(?:[ \t]*;[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*)?)*$/;

/** The first valid context of the forms, in their order. Undefined: the request begins a trace. */
export function extract(forms: readonly Propagator[], field: ReadField): RemoteContext | undefined {
  for (const form of forms) {
    const context = form === 'tracecontext' ? fromW3c(field) : form === 'baggage' ? undefined : fromB3(field);
    if (context !== undefined) return context;
  }
  return undefined;
}

function fromW3c(field: ReadField): RemoteContext | undefined {
  const parent = field('traceparent');
  if (parent === undefined || parent.length < LEAST_PARENT || parent.length > LONGEST_PARENT) return undefined;
  if (!TRACE_PARENT.test(parent) || (parent.length > LEAST_PARENT && parent.startsWith('00'))) return undefined;
  const [traceId, spanId] = [parent.slice(3, 35), parent.slice(36, 52)];
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return { traceId, spanId, isSampled: ODD_DIGITS.includes(parent[54]!), hasState: true };
}

/** Value of a tracestate without optional spaces. Empty: there is none, or one of its members is invalid, which makes all of them invalid. */
export function validState(value: string | undefined): string {
  if (value === undefined || value.length > LONGEST_STATE * 4) return '';
  const members = value
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  const isValid = members.length <= MOST_STATES && keys.size === members.length && members.every((member) => STATE_MEMBER.test(member));
  return isValid ? members.join(',') : '';
}

/** `b3` goes before the `X-B3-` fields. A decision without ids begins a trace here. */
function fromB3(field: ReadField): RemoteContext | undefined {
  const single = field('b3');
  if (single !== undefined) {
    const [, traceId, spanId, sampled] = single.length > 100 ? [] : (B3_SINGLE.exec(single.toLowerCase()) ?? []);
    const context = b3Context(traceId, spanId, sampled === undefined || sampled !== '0');
    if (context !== undefined) return context;
  }
  const traceId = field('x-b3-traceid')?.toLowerCase();
  if (traceId === undefined) return undefined;
  const sampled = field('x-b3-sampled')?.toLowerCase();
  const isSampled = field('x-b3-flags') === '1' || sampled === undefined || sampled === '1' || sampled === 'true';
  return b3Context(traceId, field('x-b3-spanid')?.toLowerCase(), isSampled);
}

function b3Context(traceId: string | undefined, spanId: string | undefined, isSampled: boolean): RemoteContext | undefined {
  if (traceId === undefined || spanId === undefined || !HEX_TRACE.test(traceId) || !HEX_SPAN.test(spanId)) return undefined;
  const long = traceId.padStart(32, '0');
  return long === NO_TRACE || spanId === NO_SPAN ? undefined : { traceId: long, spanId, isSampled, hasState: false };
}

/** Where fields for a member are set. */
export interface FieldTarget {
  set(name: string, value: string): void;
  remove(name: string): void;
}

/** The context of a span that members get. */
export interface SpanContextText {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly state: string;
}

/** Sets the fields of these forms; a tracestate that is not valid is not passed on. */
export function inject(forms: readonly Propagator[], { traceId, spanId, isSampled, state }: SpanContextText, target: FieldTarget): void {
  for (const form of forms) {
    if (form === 'tracecontext') {
      target.set('traceparent', `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`);
      if (state === '') target.remove('tracestate');
      else target.set('tracestate', state);
    } else if (form === 'b3') {
      target.set('b3', `${traceId}-${spanId}-${isSampled ? '1' : '0'}`);
    } else if (form === 'b3multi') {
      target.set('X-B3-TraceId', traceId);
      target.set('X-B3-SpanId', spanId);
      target.set('X-B3-Sampled', isSampled ? '1' : '0');
      target.remove('X-B3-ParentSpanId');
      target.remove('X-B3-Flags');
    }
  }
}

/** True if a baggage field keeps to the grammar and the limits of W3C Baggage, and may be passed on. */
export function isValidBaggage(value: string): boolean {
  if (value.length > LONGEST_BAGGAGE) return false;
  const members = value.split(',');
  return members.length <= MOST_BAGGAGE && members.every((member) => BAGGAGE_MEMBER.test(member.replace(/^[ \t]+|[ \t]+$/g, '')));
}
