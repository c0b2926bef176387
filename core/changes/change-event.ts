import { describeChange } from '../config/describe-change.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import type { Events } from '../contract/events.js';

/** A transaction that is active. */
export interface CommittedChange {
  readonly version: number;
  /** Its origin: a request id, or `reload`. */
  readonly origin: string;
  /** The caller; empty: unknown, or a reload. */
  readonly actor: string;
  /** Why, in the words of the caller; empty: nothing was said. */
  readonly message: string;
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly operations: readonly TreeOperation[];
  /** Of the configuration with the change. */
  readonly registry: SpecRegistry;
}

/** Part of a long change that an event shows: the history has all of it. */
const MOST_LINES = 20;
const LONGEST_LINE = 200;

export function tellOfChange(
  events: Events,
  { version, origin, actor, message, before, after, operations, registry }: CommittedChange,
): void {
  // Each operation has a line at least.
  const lines = describeChange(before, after, operations.slice(0, MOST_LINES + 1), registry);
  const diff = lines.slice(0, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  const said = { ...(actor !== '' && { actor }), ...(message !== '' && { message }) };
  events.publish('config.changed', { version, origin, ...said, diff, complete: lines.length <= MOST_LINES });
}
