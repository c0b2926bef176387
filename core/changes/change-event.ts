import { describeChange } from '../config/describe-change.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import type { Events } from '../contract/events.js';
import type { Log } from '../contract/log.js';
import type { LostWrite } from './local-pairs.js';
import type { NodeStatus } from './log-follower.js';

/** A transaction that is active. */
export interface CommittedChange {
  readonly version: number;
  /** Name of the node that made it. */
  readonly node: string;
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
  { version, node, origin, actor, message, before, after, operations, registry }: CommittedChange,
): void {
  // Each operation has a line at least.
  const lines = describeChange(before, after, operations.slice(0, MOST_LINES + 1), registry);
  const diff = lines.slice(0, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  const said = { ...(actor !== '' && { actor }), ...(message !== '' && { message }) };
  events.publish('config.changed', { version, node, origin, ...said, diff, complete: lines.length <= MOST_LINES });
}

/**
 * Publishes that this node is where the other nodes are, or is not, and says so in the log.
 * @param subject `configuration`, `key-value`
 */
export function tellOfNode(events: Events, log: Log, subject: string, { state, version, entry, reason }: NodeStatus): void {
  const { number } = version;
  const facts = { subject, version: number, ...(entry !== undefined && { entry }), ...(reason !== undefined && { reason }) };
  events.publish(`node.${state}`, facts, [subject]);
  if (state === 'in_sync') log.write('notice', `${subject}: in sync with the other nodes at version ${number}`);
  else if (state === 'behind')
    log.write('error', `${subject}: changes of other nodes cannot be read, serving version ${number}: ${reason}`);
  else
    log.write(
      'error',
      `${subject}: version ${entry} of another node cannot be applied, serving version ${number}, changes are rejected: ${reason}`,
    );
}

/** Publishes that a write of a pair does not count, and says so in the log. */
export function tellOfLostWrite(events: Events, log: Log, { key, lost, at, changedAt }: LostWrite): void {
  const other = changedAt === undefined ? undefined : new Date(changedAt).toISOString();
  const local = new Date(at).toISOString();
  events.publish('kv.lost', { key, lost, at: local, ...(other !== undefined && { changed_at: other }) }, ['key-value']);
  const [won, gone] =
    lost === 'local' ? ['that of another node', 'the write of this node'] : ['that of this node', 'the write of another node'];
  log.write(
    'warn',
    `key-value: ${gone} to "${key}" is lost, ${won} counts: both were made while Redis was away (here ${local}, there ${other ?? 'unknown'})`,
  );
}
