/** What this caller may change: scopes as srv reads them, and the switch of a server that asks nobody for a token. */
import { live } from './live.js';
import { Value } from './value.js';

const UNLOCKED = 'srv-changes';

/** A server without tokens lets everybody change it: the operator switches changes on. */
export const unlocked = new Value(sessionStorage.getItem(UNLOCKED) === 'on');

export function unlock(isOn: boolean): void {
  if (isOn) sessionStorage.setItem(UNLOCKED, 'on');
  else sessionStorage.removeItem(UNLOCKED);
  unlocked.set(isOn);
}

export function needsUnlock(): boolean {
  const session = live.session.current;
  return session !== undefined && session.by === 'none' && !session.read_only;
}

/** @param key of the module, the part of its paths after `/v1/` */
export function mayChange(key: string, upstream?: string): boolean {
  const session = live.session.current;
  if (session === undefined || session.read_only || (needsUnlock() && !unlocked.current)) return false;
  return (
    session.scopes === undefined ||
    grants(session.scopes).some(
      ({ mayWrite, limits }) =>
        mayWrite &&
        (limits.length === 0 || limits.includes(`module:${key}`) || (upstream !== undefined && limits.includes(`upstream:${upstream}`))),
    )
  );
}

function grants(scopes: readonly string[]): readonly { readonly mayWrite: boolean; readonly limits: readonly string[] }[] {
  const found: { mayWrite: boolean; limits: string[] }[] = [];
  for (const word of scopes) {
    if (word === 'read' || word === 'write') found.push({ mayWrite: word === 'write', limits: [] });
    else found.at(-1)?.limits.push(word);
  }
  return found;
}
