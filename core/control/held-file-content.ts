/** What a `state` file is going to hold. */
import { setImmediate as turn } from 'node:timers/promises';
import { printDirective } from '../config/print.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ContextName } from '../module/spec.js';
import type { Block, Directive } from '../module/tree.js';
import { keyIdentity } from './address.js';
import type { HeldFile } from './held-files.js';
import type { KeyRow, OverlayRow } from './store-tables.js';

/** Directives handled in one turn of the event loop. */
const BATCH = 2000;

/** Where the members that the journal changed will be found in the file. */
export async function changedKeys(
  block: Block,
  context: ContextName,
  registry: SpecRegistry,
  rows: readonly OverlayRow[],
  file: HeldFile,
): Promise<KeyRow[]> {
  const changed = new Set(rows.map((row) => row.key));
  const counts = new Map<string, number>();
  const keys: KeyRow[] = [];
  await inBatches(block.named(file.holds), (directive) => {
    const identity = keyIdentity(directive, context, registry);
    const occurrence = counts.get(identity) ?? 0;
    counts.set(identity, occurrence + 1);
    if (directive.key !== undefined && changed.has(directive.key)) keys.push({ identity, occurrence, key: directive.key });
  });
  return keys;
}

/** The whole of the file. */
export async function printHeld(block: Block, file: HeldFile): Promise<string> {
  const parts: string[] = [];
  await inBatches(block.named(file.holds), (directive) => parts.push(printDirective(directive)));
  return parts.join('');
}

/** Calls are answered in between. */
async function inBatches(directives: Iterable<Directive>, step: (directive: Directive) => void): Promise<void> {
  let count = 0;
  for (const directive of directives) {
    step(directive);
    if (++count % BATCH === 0) await turn();
  }
}
