import { createHash } from 'node:crypto';
import { exactDirective } from '../contract/print.js';
import type { ConfigTree } from '../config/tree.js';

/** Directives that differ from node to node. */
const OWN = new Set(['node_name', 'node']);
/** Address of a `listen` line that each node has its own of. */
const OWN_ADDRESS = /\blisten \S+ (?:[^;{}]* )?node=/g;
const DIGITS = 16;

/** Digests of the files of a configuration by the name of directives of the main level: where files of two nodes differ. */
export function fileDigests(tree: ConfigTree): Readonly<Record<string, string>> {
  const hashes = new Map<string, ReturnType<typeof createHash>>();
  for (const directive of tree.root) {
    const { name } = directive;
    if (OWN.has(name)) continue;
    const hash = hashes.get(name) ?? createHash('sha256');
    hashes.set(name, hash.update(exactDirective(directive).replaceAll(OWN_ADDRESS, 'listen node=')));
  }
  return Object.fromEntries([...hashes].map(([name, hash]) => [name, hash.digest('hex').slice(0, DIGITS)]));
}

/** Names with different digests, in their order. */
export function differences(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => a[name] !== b[name]).toSorted();
}
