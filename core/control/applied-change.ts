import type { AppliedChange } from '../module/control.js';
import { readable } from './address.js';
import type { AddressChange } from './journal-entry.js';

/** Places of a long change that are named. */
const MOST_PLACES = 20;

/** What the audit log says of a change: where, not what; arguments of directives may be secrets. */
export function appliedChange(version: number, changes: readonly AddressChange[]): AppliedChange {
  return { version, count: changes.length, summary: changes.slice(0, MOST_PLACES).map(placeOf) };
}

function placeOf({ address, before, after }: AddressChange): string {
  const sign = before === undefined ? '+' : after === undefined ? '-' : '~';
  const steps = readable(address).split(' / ');
  const last = steps.pop() ?? '';
  return `${sign} ${[...steps, nameOf(last, after ?? before ?? '')].join(' / ')}`;
}

/** A block is named with its arguments, a member with its address, any other directive without arguments. */
function nameOf(step: string, text: string): string {
  if (/^[^;]*\{/.test(text)) return step;
  const [name = ''] = step.split(' ', 1);
  const [, member] = name.includes('@') ? (/^\S+\s+([^\s;]+)/.exec(text) ?? []) : [];
  return member === undefined ? name : `${name} ${member}`;
}
