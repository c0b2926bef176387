import { ZoneRecords } from '../../../core/zone/records.js';
import { ZoneExchange } from '../../../core/zone/sync/zone-exchange.js';
import { Zone } from '../../../core/zone/zone.js';
import { measureJoin } from '../cluster-join.js';
import { measureClusterPairs } from '../cluster-pairs.js';
import { openConnection, withRedis } from '../cluster-redis.js';
import type { Lab } from '../lab.js';
import type { Scenario } from '../scenario.js';
import { percentile } from '../statistics.js';
import { OfferedRate } from '../zone-rate.js';
import { measureZones } from '../zone-sync.js';

const NODES = 3;
const WRITES = 1000;
const MEMBERS = 10_000;
/** Requests of keys in use, a second on each node. */
const COUNTS = 10_000;
const INTERVAL = 100;

const common = {
  oursOnly: true,
  obstacle: ({ programs }: Lab): string | undefined => (programs['redis-server'] === undefined ? 'redis-server is missing' : undefined),
} as const;

const pairs: Scenario = {
  ...common,
  name: 'cluster-pairs',
  title: 'Several nodes: key-value pairs',
  how:
    `The main threads of ${NODES} nodes, each a process of its own, without workers and API, and a redis-server: ${WRITES} writes a second in all of pairs of 110 ` +
    'bytes. How long until the write is at the other nodes, and until it is on the disk of its own and acknowledged. Then the memory of Redis for each pair with its change in the stream, and the time until ' +
    'a further node without a copy has all of them.',
  columns: [
    { key: 'rate', title: 'writes', unit: '1/s', digits: 0 },
    { key: 'lateP50', title: 'at another node: p50', unit: 'ms', digits: 1 },
    { key: 'lateP99', title: 'p99', unit: 'ms', digits: 1 },
    { key: 'respondedP99', title: 'acknowledged: p99', unit: 'ms', digits: 1 },
    { key: 'busy', title: 'core busy, each node', unit: '%', digits: 1 },
    { key: 'memory', title: 'memory for a pair', unit: 'bytes', digits: 0 },
    { key: 'join', title: 'a node takes over all', unit: 'ms', digits: 0 },
  ],
  measure: async ({ pace: { seconds, clusterKeys } }, _server, faults) => {
    const { nodes, memory, joined } = await measureClusterPairs({ rate: WRITES, seconds, keys: clusterKeys, nodes: NODES });
    const late = nodes.flatMap((node) => node.late);
    const responded = nodes.flatMap((node) => node.responded);
    if (joined.count < clusterKeys) faults.push(`the node that joined has ${joined.count} of ${clusterKeys} pairs`);
    return {
      rate: responded.length / seconds,
      lateP50: percentile(late, 0.5),
      lateP99: percentile(late, 0.99),
      respondedP99: percentile(responded, 0.99),
      busy: (nodes.reduce((sum, { cpu }) => sum + cpu, 0) / NODES / seconds) * 100,
      memory: memory.used,
      join: joined.took,
    };
  },
};

const joining: Scenario = {
  ...common,
  name: 'cluster-join',
  title: 'Several nodes: joining',
  how:
    `Whole servers with one worker and the API. Others have 100,000 pairs and ${MEMBERS} members that the API has added: the time from the start of a ` +
    'new server until it serves the last pair, with all members. The first node had nothing to take over.',
  columns: [
    { key: 'first', title: 'first node', unit: 'ms', digits: 0 },
    { key: 'joined', title: 'node that joins', unit: 'ms', digits: 0 },
  ],
  measure: async ({ processes, pace: { clusterKeys } }) => ({ ...(await measureJoin(processes, clusterKeys, MEMBERS)) }),
};

const zones: Scenario = {
  ...common,
  name: 'cluster-zones',
  title: 'Several nodes: a zone with 100,000 keys',
  how:
    `${NODES} nodes, each a process with a worker that counts ${COUNTS} requests a second, each of another one of 100,000 keys, in a zone with \`sync\`: processor time of a ` +
    'main thread, which sends and receives, at the node where it is most, and of redis-server.',
  columns: [
    { key: 'main', title: 'main thread', unit: '%', digits: 1 },
    { key: 'redis', title: 'redis-server', unit: '%', digits: 1 },
    { key: 'memory', title: 'memory of redis-server', unit: 'MiB', digits: 0 },
  ],
  measure: async ({ pace: { seconds, clusterKeys } }) => {
    const { nodes, redis, memory } = await measureZones({ keys: clusterKeys, rate: COUNTS }, seconds, NODES);
    return { main: Math.max(...nodes.map(({ percent }) => percent)), redis, memory };
  },
};

const rate: Scenario = {
  ...common,
  name: 'cluster-rate',
  title: 'Several nodes: the rate of all of them',
  how:
    `A limit of 1,000 requests a second over ${NODES} nodes with \`sync\`, and 3,000 offered: spread evenly, and on one node alone. Requests that pass, divided by the number for a node ` +
    'without others.',
  columns: [
    { key: 'spread', title: 'spread over the nodes', unit: '×', digits: 3 },
    { key: 'single', title: 'on one of them', unit: '×', digits: 3 },
    { key: 'off', title: 'off by', unit: '%', digits: 2 },
  ],
  measure: async ({ pace: { seconds } }) => {
    const spread = await rateOver([1 / 3, 1 / 3, 1 / 3], seconds * 3);
    const single = await rateOver([1, 0, 0], seconds * 3);
    return { spread, single, off: Math.max(Math.abs(spread - 1), Math.abs(single - 1)) * 100 };
  },
};

function rateOver(shares: readonly number[], seconds: number): Promise<number> {
  return withRedis(async ({ port }) => {
    const clock = {
      get now(): number {
        return Date.now();
      },
    };
    const log = { write: (_: string, text: string) => void process.stderr.write(`${text}\n`), enabled: () => true };
    const nodes = shares.map((_, at) => {
      const connection = openConnection(port);
      return { connection, exchange: new ZoneExchange({ connection, nodeName: `n${at}`, log }), zone: Zone.create('rate', 65_536) };
    });
    try {
      const offered = new OfferedRate(
        nodes.map(
          ({ zone }) =>
            (options) =>
              ZoneRecords.open(zone, options, clock, 'count')!,
        ),
        shares,
      );
      for (const { connection, exchange, zone } of nodes) {
        await connection.attempted;
        exchange.share([zone], INTERVAL);
      }
      return (await offered.run(seconds)).ratio;
    } finally {
      for (const { connection, exchange } of nodes) {
        exchange.close();
        connection.close('end');
      }
    }
  });
}

/** Several nodes over Redis. */
export const clusterScenarios: readonly Scenario[] = [pairs, joining, zones, rate];
