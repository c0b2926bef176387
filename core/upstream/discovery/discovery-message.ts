/** Message of the master to workers about members that were found or removed, beside the content of the zone. */
export interface DiscoveryMessage {
  /** `prepare`: the members are in the zone, and not active. `commit`: they are active, and others are not any more. */
  readonly step: 'prepare' | 'commit';
  readonly lines: readonly ChangedLine[];
}

/** The members of one `server` line, by the numbers of their addresses. */
export interface ChangedLine {
  /** Ids of the `upstream` block and of the line. */
  readonly block: number;
  readonly line: number;
  readonly added: readonly number[];
  readonly changed: readonly number[];
  readonly removed: readonly number[];
}

export const DISCOVERY_CHANNEL = 'discovery';
