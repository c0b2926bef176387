import { DISCOVERY_CHANNEL, type DiscoveryMessage } from '../upstream/discovery/discovery-message.js';
import type { MemberReplica } from '../upstream/discovery/member-replica.js';
import type { Replica } from './participant.js';

/** Passes the results of the master's discovery to the upstreams of a worker, of all engines. */
export class DiscoveryReplica implements Replica {
  readonly channel = DISCOVERY_CHANNEL;

  constructor(private readonly members: readonly MemberReplica[]) {}

  /** Members found before the worker joined are in the zones. */
  load(): void {}

  take(data: unknown): void {
    for (const members of this.members) members.take(data as DiscoveryMessage);
  }
}
