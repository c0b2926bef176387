import { describeChange } from '../config/describe-change.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import type { Events } from '../module/events.js';

/** A transaction that is in force. */
export interface CommittedChange {
  readonly version: number;
  /** Who wanted it: a request id, or `reload`. */
  readonly origin: string;
  /** Who called; empty: nobody knows, or a reload. */
  readonly actor: string;
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly operations: readonly TreeOperation[];
  /** Of the configuration with the change. */
  readonly registry: SpecRegistry;
}

/** What of a long change an event shows: the history has all of it. */
const MOST_LINES = 20;
const LONGEST_LINE = 200;

export function tellOfChange(events: Events, { version, origin, actor, before, after, operations, registry }: CommittedChange): void {
  // Each operation has a line at least.
  const lines = describeChange(before, after, operations.slice(0, MOST_LINES + 1), registry);
  const diff = lines.slice(0, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  events.publish('config.changed', { version, origin, ...(actor !== '' && { actor }), diff, complete: lines.length <= MOST_LINES });
}
