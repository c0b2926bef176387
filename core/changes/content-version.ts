import { createHash, type Hash } from 'node:crypto';
import type { Directive } from '../contract/tree.js';

/**
 * The version of a directive, made of what it says, what is in it and their lasting keys: another one as soon as any of that has changed,
 * and the same after a restart or a reload that changed none of it. Its time grows with the directive.
 */
export function contentVersion(directive: Directive): string {
  const hash = createHash('sha256');
  take(hash, directive);
  return hash.digest('hex').slice(0, 16);
}

function take(hash: Hash, { key, name, args, block }: Directive): void {
  hash.update(JSON.stringify([key ?? null, name, ...args.map((word) => word.text)]));
  if (block === undefined) return;
  hash.update('{');
  for (const child of block) take(hash, child);
  hash.update('}');
}
