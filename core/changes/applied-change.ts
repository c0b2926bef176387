import type { SpecRegistry } from '../config/registry.js';
import type { AppliedChange } from '../contract/control.js';
import type { ContextName } from '../contract/spec.js';
import { stepsIn } from './address.js';
import type { AddressChange } from './journal-entry.js';

/** Places of a long change that are named. */
const MOST_PLACES = 20;

/** A change in the audit log: where, not what. Arguments of directives, conditions and entries of maps may be secrets. */
export function appliedChange(version: number, changes: readonly AddressChange[], registry: SpecRegistry): AppliedChange {
  const summary = changes.slice(0, MOST_PLACES).map((change) => `${signOf(change)} ${placeOf(change, registry)}`);
  return { version, count: changes.length, summary };
}

function signOf({ before, after }: AddressChange): string {
  return before === undefined ? '+' : after === undefined ? '-' : '~';
}

/** `http / server a.org / location /x / proxy_set_header` */
function placeOf({ address, before, after }: AddressChange, registry: SpecRegistry): string {
  const shown: string[] = [];
  let context: ContextName | undefined = 'main';
  for (const step of stepsIn(address)) {
    if (context === undefined || context === 'entries') break;
    const text = step.replace(/^\d+:/, '').trim();
    const [name = ''] = text.split(/[ @]/, 1);
    context = registry.contextInside(context, name);
    shown.push(context === undefined ? directiveName(text, after ?? before ?? '') : name === 'if' ? name : text);
  }
  return shown.join(' / ');
}

/** Of a directive without a block: its name, for a member of an upstream with number and address. */
function directiveName(step: string, text: string): string {
  const [name = ''] = step.split(' ', 1);
  const [, member] = name.includes('@') ? (/^\S+\s+([^\s;]+)/.exec(text) ?? []) : [];
  return member === undefined ? name : `${name} ${member}`;
}
