/** The checker of histories finds what it is for, and nothing else. */
import test from 'ava';
import { array, assert, boolean, constantFrom, nat, property, record } from 'fast-check';
import { historyFaults, type Swap } from './histories.js';

const made = (from: string | undefined, to: string, began: number, ended: number): Swap => ({ from, to, began, ended, outcome: 'made' });

const faults = (history: readonly Swap[], last: string | undefined): string => historyFaults(history, last).join('; ');

test('a history that one order explains has no faults', (t) => {
  t.is(faults([], undefined), '');
  const open = { ...made('b', 'c', 9, 20), outcome: 'unknown' } as const;
  t.is(faults([made(undefined, 'a', 0, 5), made('a', 'b', 3, 9), open, made('c', 'd', 10, 12)], 'd'), '');
  t.is(faults([made(undefined, 'a', 0, 5), { ...made('a', 'b', 6, 20), outcome: 'unknown' }], 'a'), '');
  t.is(faults([made(undefined, 'a', 0, 5), { ...made('a', 'b', 6, 20), outcome: 'rejected' }], 'a'), '');
});

test('what no order explains is named', (t) => {
  const first = made(undefined, 'a', 0, 5);
  t.is(faults([first, made('a', 'b', 6, 9)], 'a'), '"a" → "b" was made, but is lost');
  t.is(faults([first, made('a', 'b', 6, 9), made('a', 'c', 6, 9)], 'c'), '"a" → "b" was made, but is lost');
  t.is(
    faults([first, { ...made('a', 'b', 6, 9), outcome: 'rejected', response: '503' }], 'b'),
    '"a" → "b" (503) was rejected, but is made',
  );
  t.is(faults([made(undefined, 'a', 6, 9), made('a', 'b', 0, 5)], 'b'), '"a" → "b" had ended before "" → "a" began, but comes after it');
  t.is(faults([first, made('x', 'b', 6, 9)], 'b'), '"x" was written by no call; "" → "a" was made, but is lost');
  t.is(faults([made('b', 'a', 0, 9), made('a', 'b', 0, 9)], 'b'), '"b" was written by no call');
});

/** All orders of all subsets that may have been made, one after the other. Only for a few calls. */
function isLinearizable(history: readonly Swap[], last: string | undefined): boolean {
  const tries = (left: readonly Swap[], state: string | undefined): boolean => {
    if (state === last && left.every(({ outcome }) => outcome !== 'made')) return true;
    return left.some((swap) => {
      if (swap.outcome === 'rejected' || swap.from !== state) return false;
      // All that had ended before it began have to be made first.
      if (left.some((other) => other.outcome === 'made' && other.ended < swap.began)) return false;
      return tries(
        left.filter((other) => other !== swap),
        swap.to,
      );
    });
  };
  return tries(history, undefined);
}

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const states = constantFrom(undefined, ...NAMES);

/** Anything at all. */
const anyHistory = array(
  record({
    from: states,
    began: nat(12),
    took: nat(12),
    outcome: constantFrom('made' as const, 'rejected' as const, 'unknown' as const),
  }),
  { maxLength: NAMES.length },
).map((calls) => calls.map(({ took, ...call }, at): Swap => ({ ...call, to: NAMES[at] ?? '', ended: call.began + took })));

test('it finds a fault in a history if and only if no order of the calls explains it', (t) => {
  let found = 0;
  assert(
    property(anyHistory, states, (history, last) => {
      const isRight = isLinearizable(history, last);
      if (isRight) found++;
      return (historyFaults(history, last).length === 0) === isRight;
    }),
    { numRuns: 5000 },
  );
  t.true(found > 50, `${found}`);
});

/** A register, and clients that read it, wait, and write: each call has an effect at one moment between its beginning and its end, or none. */
const realHistory = array(record({ began: nat(1000), reads: nat(20), works: nat(20), ends: nat(20), loses: boolean() }), {
  maxLength: 60,
}).map((calls) => {
  const moments = calls.flatMap((call, n) => [
    { at: call.began, n, what: 'read' as const },
    { at: call.began + call.reads + call.works, n, what: 'write' as const },
  ]);
  let state: string | undefined;
  const read = new Map<number, string | undefined>();
  const history: Swap[] = [];
  for (const { n, what } of moments.toSorted((a, b) => a.at - b.at)) {
    const { began, reads, works, ends, loses } = calls[n]!;
    if (what === 'read') {
      read.set(n, state);
      continue;
    }
    const [from, to] = [read.get(n), `s${n}`];
    const isMade = state === from;
    if (isMade) state = to;
    const outcome = loses ? 'unknown' : isMade ? 'made' : 'rejected';
    history.push({ from, to, began: began + reads, ended: began + reads + works + ends, outcome });
  }
  return { history, last: state };
});

test('a register has no faults; one that forgets a write, or makes a rejected one, has', (t) => {
  assert(property(realHistory, ({ history, last }) => historyFaults(history, last).length === 0));
  assert(
    property(realHistory, ({ history, last }) => {
      const writer = history.find(({ to }) => to === last);
      if (writer === undefined || writer.outcome !== 'made') return true;
      const denied = history.map((swap) => (swap === writer ? { ...swap, outcome: 'rejected' as const } : swap));
      return historyFaults(history, writer.from).length > 0 && historyFaults(denied, last).length > 0;
    }),
  );
  t.pass();
});
