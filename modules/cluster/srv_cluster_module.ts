import { Cluster, notClustered, type ClusterOutcome, type ClusterView } from '../../core/contract/cluster.js';
import { action, ApiError, moreTime, type ActionContext } from '../../core/contract/control.js';
import { coreModule } from '../../core/contract/manifest.js';

/** A resync waits for a snapshot of another node, and for its own workers. Milliseconds. */
const RESYNC_MS = 30_000;

interface OutcomeParams {
  readonly version: number;
  readonly seconds: number;
}

/** The nodes of the cluster. Its actions are the meaning of the API; the control plane adds HTTP. */
@coreModule({ name: 'srv_cluster_module', api: 1, plane: 'data' })
export class ClusterActions {
  constructor(private readonly cluster: Cluster) {}

  @action('cluster.view')
  view(): Promise<ClusterView> {
    return this.cluster.view();
  }

  /** @param seconds how long to wait until all nodes that are alive have it */
  @action('cluster.outcome')
  async outcome({ version, seconds }: OutcomeParams, context: ActionContext): Promise<ClusterOutcome> {
    await moreTime(context, seconds * 1000);
    const outcome = await this.cluster.outcome(version, seconds * 1000);
    if (outcome === undefined) throw notClustered();
    const missing = Object.entries(outcome.nodes).filter(([, state]) => state !== 'applied');
    if (missing.length === 0) return outcome;
    const text = missing.map(([name, state]) => `"${name}" ${state}`).join(', ');
    throw new ApiError(503, 'ClusterPending', `not all nodes have version ${version}: ${text}`, [outcome]);
  }

  @action('cluster.resync')
  async resync(_: unknown, context: ActionContext): Promise<number> {
    await moreTime(context, RESYNC_MS);
    return this.cluster.resync();
  }
}
