import type { ClusterNode, ClusterPairs, ClusterOutcome, ClusterView } from '../../core/contract/cluster.js';
import { ApiError, DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';

const time = (description: string) => Type.String({ description: `${description} RFC 3339.` });

const Pairs = Type.Object(
  {
    state: Type.Enum(['in_sync', 'behind', 'diverged']),
    version: Type.Integer({ description: 'Of the last write that it has.' }),
    reason: Type.Optional(Type.String()),
    stale: Type.Optional(Type.Boolean({ description: 'It serves the copy that it started with.' })),
    local: Type.Integer({ description: 'Pairs that it wrote while Redis was away, and that the others do not have yet.' }),
  },
  { title: 'ClusterPairs' },
);
const Node = Type.Object(
  {
    name: Type.String(),
    address: Type.String(),
    srv: Type.String({ description: 'Version of srv.' }),
    version: Type.Integer({ description: 'Of the configuration that all of its workers have.' }),
    state: Type.Enum(['in_sync', 'behind', 'diverged', 'away'], {
      description:
        'A node that is not `in_sync` cannot read the changes of the others, cannot apply one (`diverged`), or was not heard of for 5 seconds (`away`).',
    }),
    since: time('When it came into this state.'),
    lag: Type.Optional(Type.Number({ description: 'Seconds since the first change that it has not applied.' })),
    entry: Type.Optional(Type.Integer({ description: 'Version that it cannot apply.' })),
    reason: Type.Optional(Type.String()),
    stale: Type.Optional(Type.Boolean({ description: 'It serves the copy that it started with.' })),
    drift: Type.Array(Type.String(), {
      description: 'Directives of the main level that its files have otherwise than those of this node.',
    }),
    pairs: Type.Optional(Pairs),
  },
  { title: 'ClusterNode' },
);
const Redis = Type.Object(
  {
    name: Type.String(),
    state: Type.Enum(['ready', 'away']),
    reason: Type.Optional(Type.String()),
    since: time('When it came into this state.'),
    role: Type.Optional(Type.String()),
    latency_ms: Type.Optional(Type.Number()),
    memory: Type.Optional(Type.Integer({ description: 'Bytes of the keys of this cluster.' })),
  },
  { title: 'ClusterRedis' },
);

const view = {
  summary: 'The nodes of the cluster, and Redis',
  responses: {
    200: Type.Object(
      {
        name: Type.String({ description: '`cluster_name`.' }),
        node: Type.String({ description: 'The node that responds.' }),
        version: Type.Integer({ description: 'Of the last change that this node knows.' }),
        nodes: Type.Array(Node),
        redis: Type.Optional(Redis),
      },
      { title: 'Cluster' },
    ),
  },
  errors: DATA_PLANE_ERRORS,
} as const;
const outcome = {
  summary: 'Wait until all nodes that are alive have a version of the configuration',
  query: Type.Object({ timeout: Type.Optional(Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds; default 10.' })) }),
  responses: {
    200: Type.Object({ version: Type.Integer(), nodes: Type.Record(Type.String(), Type.Enum(['applied'])) }, { title: 'ClusterOutcome' }),
  },
  errors: [...DATA_PLANE_ERRORS, 'InvalidField', 'NotClustered', 'ClusterPending'],
} as const;
const resync = {
  summary: 'Take over the state of the other nodes, on top of the files of this one',
  responses: { 200: Type.Object({ version: Type.Integer() }, { title: 'Resync' }) },
  errors: [...DATA_PLANE_ERRORS, 'NotClustered', 'NodeDiverged', 'StoreUnavailable'],
} as const;

/** The nodes of the cluster over HTTP: `/v1/cluster`. */
@controlModule({ name: 'srv_cluster_api_module', api: 1, key: 'cluster', dataModule: 'srv_cluster_module' })
export class ClusterApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', view)
  async view(call: Call): Promise<Reply> {
    const { redis, nodes, ...cluster } = await this.dataPlane.call<ClusterView>('cluster.view', {}, call);
    const body = { ...cluster, nodes: nodes.map(nodeJson), ...(redis && { redis: redisJson(redis) }) };
    return { status: 200, body };
  }

  @route('GET', '/versions/:version', outcome)
  async outcome({ params, query, ...call }: Call<typeof outcome>): Promise<Reply> {
    const { version: text = '' } = params;
    if (!/^\d{1,15}$/.test(text)) throw new ApiError(400, 'InvalidField', `invalid version "${text}": must be a number`);
    const wanted = { version: Number(text), seconds: query.timeout ?? 10 };
    return { status: 200, body: await this.dataPlane.call<ClusterOutcome>('cluster.outcome', wanted, call) };
  }

  @route('POST', '/resync', resync)
  async resync(call: Call): Promise<Reply> {
    return { status: 200, body: { version: await this.dataPlane.call<number>('cluster.resync', {}, call) } };
  }
}

const timeText = (at: number): string => new Date(at).toISOString();

function nodeJson({ since, isStale, pairs, ...node }: ClusterNode): object {
  return { ...node, since: timeText(since), ...staleJson(isStale), ...(pairs && { pairs: pairsJson(pairs) }) };
}

const staleJson = (isStale: boolean): object => (isStale ? { stale: true } : {});

function pairsJson({ isStale, ...pairs }: ClusterPairs): object {
  return { ...pairs, ...staleJson(isStale) };
}

function redisJson({ since, latency, ...redis }: NonNullable<ClusterView['redis']>): object {
  return { ...redis, since: timeText(since), ...(latency !== undefined && { latency_ms: Math.round(latency * 100) / 100 }) };
}
