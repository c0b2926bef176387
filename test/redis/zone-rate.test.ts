/** The rate of `limit_req` over nodes. `SRV_ZONE_RATE_SECONDS=30` makes it a proof, at the default interval. */
import type { ExecutionContext } from 'ava';
import { OfferedRate } from '../../tools/bench/zone-rate.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { ZoneNode } from './zone-node.js';

const SECONDS = Number(process.env['SRV_ZONE_RATE_SECONDS'] ?? 2);
const INTERVAL = SECONDS > 2 ? 100 : 20;
/** Runs, of which the last one has to end within 5 %: the fewer seconds they have, the more counts what the nodes do not know of each other yet. */
const MOST_RUNS = 5;

async function rate(t: ExecutionContext, shares: readonly number[]): Promise<void> {
  const server = await RedisServer.start(t);
  const nodes = Array.from('abc', (name) => ZoneNode.start(t, name, server.port));
  const opens = nodes.map((node) => (options: Parameters<ZoneNode['records']>[2]) => node.records('rate', 'count', options));
  const offered = new OfferedRate(opens, shares);
  await Promise.all(nodes.map((node) => node.share(INTERVAL)));
  let off = Infinity;
  for (let run = 0; run < MOST_RUNS && off > 0.05; run++) {
    const rates = await offered.run(SECONDS);
    off = Math.abs(rates.ratio - 1);
    t.log(`${rates.nodes.toFixed(0)} requests a second, ${rates.alone.toFixed(0)} at a node alone, of 1000 allowed`);
  }
  t.true(off <= 0.05, String(off));
}

testRedis('redis-server: of three times the rate, spread over three nodes, the rate passes', (t) => rate(t, [1 / 3, 1 / 3, 1 / 3]));

testRedis('redis-server: of three times the rate on one of three nodes, the rate passes', (t) => rate(t, [1, 0, 0]));
