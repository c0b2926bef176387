/** How far the clocks of two threads may be apart; a time further ahead was written before the time of day was set back. Milliseconds. */
const SKEW = 1000;

/** True if no more than `duration` milliseconds have passed since `since`. False for a time that is yet to come: the clock was set back. */
export function isWithin(duration: number, since: number, now: number): boolean {
  const elapsed = now - since;
  return elapsed <= duration && elapsed >= -SKEW;
}
