/** The rate of `limit_req` over nodes. `SRV_ZONE_RATE_SECONDS=30` makes it a proof, at the default interval. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { DECLINED, type HttpHandlers } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import type { Records, Zones } from '../../core/contract/zones.js';
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
/** Requests that this process is late with are not made any more: it was not here to offer them. Milliseconds. */
const MOST_LATE = 10;
/** Runs, of which the last one has to end within 5 %: the fewer seconds they have, the more counts what the nodes do not know of each other yet. */
const MOST_RUNS = 5;

const silent: Log = { write: () => undefined, enabled: () => false };

/** A limit of 1,000 requests a second. */
class Limited {
  passed = 0;
  readonly #check: HttpHandlers['preaccess'];

  constructor(zones: Zones, sync?: string) {
    const scope = fakeScope(LimitReq, {
      limit_req_zone: [{ key: { constant: 'k', of: () => 'k' }, zone: { name: 'rate', size: 65_536 }, rate: RATE * 1000, sync }],
      limit_req: [{ zone: 'rate', burst: BURST * 1000, delay: 0, nodelay: true }],
    });
    this.#check = new LimitReq(zones, silent).compile(scope)?.preaccess;
  }

  request(startTime: number): void {
    if (this.#check?.(Object.assign(fakeRequest(), { startTime })) === DECLINED) this.passed++;
  }
}

/** That limit on one node of several. */
function limitedNode(node: ZoneNode): Limited {
  const records = (_: unknown, options: Parameters<ZoneNode['records']>[2]): Records<string> => node.records('rate', 'count', options);
  return new Limited(Object.assign(new FakeZones(), { records }), '');
}

/** Offers requests to the nodes, a share of all of them each, and every one of them to the limit of a node that is alone. */
async function offer(nodes: readonly Limited[], alone: Limited, shares: readonly number[], seconds: number): Promise<void> {
  const begin = performance.now();
  const owed = nodes.map(() => 0);
  for (let now = begin, last = begin; now < begin + seconds * 1000; last = now, now = performance.now()) {
    const startTime = Date.now();
    for (const [at, node] of nodes.entries()) {
      owed[at]! += (Math.min(now - last, MOST_LATE) / 1000) * 3 * RATE * shares[at]!;
      for (; owed[at]! >= 1; owed[at]!--) {
        node.request(startTime);
        alone.request(startTime);
      }
    }
    await delay(1);
  }
}

async function rate(t: ExecutionContext, shares: readonly number[]): Promise<void> {
  const server = await RedisServer.start(t);
  const zoneNodes = Array.from('abc', (name) => ZoneNode.start(t, name, server.port));
  const nodes = zoneNodes.map((node) => limitedNode(node));
  const alone = new Limited(new FakeZones());
  await Promise.all(zoneNodes.map((node) => node.share(INTERVAL)));
  const passed = (): number => nodes.reduce((sum, node) => sum + node.passed, 0);
  // The burst, and what arrives in the first interval.
  await offer(nodes, alone, shares, 0.5);
  const [before, beforeAlone, began] = [passed(), alone.passed, performance.now()];
  let ratio = 0;
  for (let run = 0; run < MOST_RUNS && Math.abs(ratio - 1) > 0.05; run++) {
    await offer(nodes, alone, shares, SECONDS);
    ratio = (passed() - before) / (alone.passed - beforeAlone);
    const seconds = (performance.now() - began) / 1000;
    const perSecond = (count: number): string => (count / seconds).toFixed(0);
    t.log(
      `${perSecond(passed() - before)} requests a second, ${perSecond(alone.passed - beforeAlone)} at a node alone, of ${RATE} allowed`,
    );
  }
  t.true(Math.abs(ratio - 1) <= 0.05, String(ratio));
}

testRedis('redis-server: of three times the rate, spread over three nodes, the rate passes', (t) => rate(t, [1 / 3, 1 / 3, 1 / 3]));

testRedis('redis-server: of three times the rate on one of three nodes, the rate passes', (t) => rate(t, [1, 0, 0]));
