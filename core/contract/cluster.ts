/** The nodes of a cluster, and their common configuration (`cluster_changes`). */
import { ApiError } from './control.js';

/**
 * - `in_sync`: it has all changes, or is about to apply them.
 * - `behind`: it cannot read the changes of the others.
 * - `diverged`: it cannot apply one of them.
 * - `away`: nothing was heard of it for some seconds.
 */
export type ClusterNodeState = 'in_sync' | 'behind' | 'diverged' | 'away';

export interface ClusterNode {
  readonly name: string;
  /** IP address. */
  readonly address: string;
  /** Version of srv. */
  readonly srv: string;
  /** Of the configuration that is active in all of its workers. */
  readonly version: number;
  readonly state: ClusterNodeState;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Seconds since the first change that it has not applied; 0: it has all. Undefined: unknown. */
  readonly lag: number | undefined;
  /** Version that it cannot apply. */
  readonly entry: number | undefined;
  readonly reason: string | undefined;
  /** It serves the copy that it started with: it has not read the changes of the others yet. */
  readonly isStale: boolean;
  /** Directives of the main level that its files have otherwise than those of the node that responds: `http`. */
  readonly drift: readonly string[];
  /** Its key-value pairs, if they are those of several nodes. */
  readonly pairs: ClusterPairs | undefined;
}

/** The key-value pairs of a node, as part of those of several. */
export interface ClusterPairs {
  readonly state: 'in_sync' | 'behind' | 'diverged';
  /** Of the last write that it has. */
  readonly version: number;
  readonly reason?: string | undefined;
  /** As {@link ClusterNode.isStale}. */
  readonly isStale: boolean;
  /** Pairs that it wrote while Redis was away, which the others do not have yet. */
  readonly local: number;
}

export interface ClusterRedis {
  /** Of the `redis` block. */
  readonly name: string;
  readonly state: 'ready' | 'away';
  /** Why it is away. */
  readonly reason: string | undefined;
  /** Epoch milliseconds. */
  readonly since: number;
  /** `master`, `replica`; undefined: unknown. */
  readonly role: string | undefined;
  /** Milliseconds. */
  readonly latency: number | undefined;
  /** Bytes of the keys of this cluster; undefined: unknown. */
  readonly memory: number | undefined;
}

export interface ClusterView {
  /** `cluster_name`. */
  readonly name: string;
  /** Name of the node that responds. */
  readonly node: string;
  /** Of the last change, as far as this node knows. */
  readonly version: number;
  readonly nodes: readonly ClusterNode[];
  /** Undefined: this node changes its configuration alone. */
  readonly redis: ClusterRedis | undefined;
}

/** A change of the configuration at the nodes that are alive. */
export interface ClusterOutcome {
  readonly version: number;
  readonly nodes: Readonly<Record<string, 'applied' | 'pending' | 'diverged'>>;
}

/** Responses of nodes by their names. */
export type NodeResponses = ReadonlyMap<string, { readonly value: unknown } | { readonly error: string }>;

export function notClustered(): ApiError {
  return new ApiError(409, 'NotClustered', 'this node changes its configuration alone: it has no "cluster_changes"');
}

/** The cluster that this node belongs to. Master only. */
export abstract class Cluster {
  abstract view(): Promise<ClusterView>;
  /**
   * The nodes that are alive, and whether they have a version.
   * @param ms how long to wait until they do
   * @returns undefined: this node changes its configuration alone
   */
  abstract outcome(version: number, ms: number): Promise<ClusterOutcome | undefined>;
  /**
   * Asks all nodes that are alive, this one as well.
   * @param topic of {@link respond}
   * @param params JSON
   * @returns responses by names of nodes, of nodes that respond within a second
   */
  abstract ask(topic: string, params: unknown): Promise<NodeResponses>;
  /** Responds to {@link ask} of all nodes with JSON. A later call replaces it. */
  abstract respond(topic: string, responder: (params: unknown) => unknown): void;
  /**
   * Takes over the state of the other nodes, on top of the files of this one.
   * @returns the version of the configuration then
   * @throws ApiError 409 `NotClustered`; 503 `StoreUnavailable`, `NodeDiverged` with the reason
   */
  abstract resync(): Promise<number>;
}
