/** The rate of `limit_req` over nodes. `SRV_ZONE_RATE_SECONDS=30` makes it a proof, at the default interval. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { DECLINED, type HttpHandlers } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import type { Records } from '../../core/contract/zones.js';
import { LimitReq } from '../../modules/limit/srv_http_limit_req_module.js';
import { fakeRequest } from '../../testing/request.js';
import { fakeScope } from '../../testing/scope.js';
import { FakeZones } from '../../testing/zones.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { ZoneNode } from './zone-node.js';

const SECONDS = Number(process.env['SRV_ZONE_RATE_SECONDS'] ?? 2);
const INTERVAL = SECONDS > 2 ? 100 : 20;
const RATE = 1000;
const BURST = 50;

const silent: Log = { write: () => undefined, enabled: () => false };

/** A limit of 1,000 requests a second on one node. */
class Limited {
  passed = 0;
  readonly #check: HttpHandlers['preaccess'];

  constructor(readonly node: ZoneNode) {
    const zones = Object.assign(new FakeZones(), {
      records: (_: unknown, options: Parameters<ZoneNode['records']>[2]): Records<string> => node.records('rate', 'count', options),
    });
    const scope = fakeScope(LimitReq, {
      limit_req_zone: [{ key: { constant: 'k', of: () => 'k' }, zone: { name: 'rate', size: 65_536 }, rate: RATE * 1000, sync: '' }],
      limit_req: [{ zone: 'rate', burst: BURST * 1000, delay: 0, nodelay: true }],
    });
    this.#check = new LimitReq(zones, silent).compile(scope)?.preaccess;
  }

  request(): void {
    if (this.#check?.(Object.assign(fakeRequest(), { startTime: Date.now() })) === DECLINED) this.passed++;
  }
}

/** Offers requests to the nodes, a share of all of them each. @returns requests that have passed per second */
async function offer(nodes: readonly Limited[], shares: readonly number[], perSecond: number): Promise<number> {
  const passed = (): number => nodes.reduce((sum, node) => sum + node.passed, 0);
  const run = async (seconds: number): Promise<void> => {
    const begin = performance.now();
    const sent = nodes.map(() => 0);
    for (let now = begin; now < begin + seconds * 1000; now = performance.now()) {
      for (const [at, node] of nodes.entries())
        for (const due = ((now - begin) / 1000) * perSecond * shares[at]!; sent[at]! < due; sent[at]!++) node.request();
      await delay(1);
    }
  };
  // The burst, and what arrives in the first interval.
  await run(0.5);
  const [before, began] = [passed(), performance.now()];
  await run(SECONDS);
  return ((passed() - before) / (performance.now() - began)) * 1000;
}

async function rate(t: ExecutionContext, shares: readonly number[]): Promise<void> {
  const server = await RedisServer.start(t);
  const nodes = Array.from('abc', (name) => new Limited(ZoneNode.start(t, name, server.port)));
  await Promise.all(nodes.map(({ node }) => node.share(INTERVAL)));
  const measured = await offer(nodes, shares, 3 * RATE);
  t.log(`${measured.toFixed(0)} requests a second, of ${RATE} allowed and ${3 * RATE} offered`);
  t.true(Math.abs(measured - RATE) <= RATE * 0.05, String(measured));
}

testRedis('redis-server: of three times the rate, spread over three nodes, the rate passes', (t) => rate(t, [1 / 3, 1 / 3, 1 / 3]));

testRedis('redis-server: of three times the rate on one of three nodes, the rate passes', (t) => rate(t, [1, 0, 0]));
