/** The rate of `limit_req` over nodes that share their zone: what they let through, held against a limit of a node that is alone. */
import { setTimeout as delay } from 'node:timers/promises';
import { DECLINED, type HttpHandlers } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import type { RecordOptions, Records, Zones } from '../../core/contract/zones.js';
import { LimitReq } from '../../modules/limit/srv_http_limit_req_module.js';
import { fakeMetrics } from '../../testing/metrics.js';
import { fakeRequest } from '../../testing/request.js';
import { fakeScope } from '../../testing/scope.js';
import { FakeTasks } from '../../testing/tasks.js';
import { FakeZones } from '../../testing/zones.js';

const RATE = 1000;
const BURST = 50;
/** Requests that this process is late with are not made any more: it was not here to offer them. Milliseconds. */
const MOST_LATE = 10;

const silent: Log = { write: () => undefined, enabled: () => false };

/** Opens the records of a zone that nodes share, at one of them. */
export type OpenRecords = (options: RecordOptions<string>) => Records<string>;

/** A limit of 1,000 requests a second. */
class Limited {
  passed = 0;
  readonly #check: HttpHandlers['preaccess'];

  constructor(zones: Zones, sync?: string) {
    const scope = fakeScope(LimitReq, {
      limit_req_zone: [{ key: { constant: 'k', of: () => 'k' }, zone: { name: 'rate', size: 65_536 }, rate: RATE * 1000, sync }],
      limit_req: [{ zone: 'rate', burst: BURST * 1000, delay: 0, nodelay: true }],
    });
    this.#check = new LimitReq(zones, silent, fakeMetrics(), new FakeTasks()).compile(scope)?.preaccess;
  }

  request(startTime: number): void {
    if (this.#check?.(Object.assign(fakeRequest(), { startTime })) === DECLINED) this.passed++;
  }
}

export interface Rates {
  /** Requests a second that all nodes together let through. */
  readonly nodes: number;
  /** Requests a second that a node alone lets through of all of them. */
  readonly alone: number;
  /** `nodes / alone`. */
  readonly ratio: number;
}

/** Three times the rate, offered to nodes that share a limit. */
export class OfferedRate {
  readonly #nodes: readonly Limited[];
  readonly #alone = new Limited(new FakeZones());
  #since: { readonly nodes: number; readonly alone: number; readonly began: number } | undefined;

  /** @param shares of all requests that each node gets */
  constructor(
    opens: readonly OpenRecords[],
    private readonly shares: readonly number[],
  ) {
    this.#nodes = opens.map(
      (open) => new Limited(Object.assign(new FakeZones(), { records: (_: unknown, options: RecordOptions<string>) => open(options) }), ''),
    );
  }

  /** Offers them for so many seconds, and the first time half a second before that for the burst. @returns the rates since that */
  async run(seconds: number): Promise<Rates> {
    if (this.#since === undefined) await this.#offer(0.5);
    this.#since ??= { nodes: this.#passed, alone: this.#alone.passed, began: performance.now() };
    await this.#offer(seconds);
    const [nodes, alone] = [this.#passed - this.#since.nodes, this.#alone.passed - this.#since.alone];
    const took = (performance.now() - this.#since.began) / 1000;
    return { nodes: nodes / took, alone: alone / took, ratio: nodes / alone };
  }

  get #passed(): number {
    return this.#nodes.reduce((sum, node) => sum + node.passed, 0);
  }

  async #offer(seconds: number): Promise<void> {
    const begin = performance.now();
    const owed = this.#nodes.map(() => 0);
    for (let now = begin, last = begin; now < begin + seconds * 1000; last = now, now = performance.now()) {
      const startTime = Date.now();
      for (const [at, node] of this.#nodes.entries()) {
        owed[at]! += (Math.min(now - last, MOST_LATE) / 1000) * 3 * RATE * this.shares[at]!;
        for (; owed[at]! >= 1; owed[at]!--) {
          node.request(startTime);
          this.#alone.request(startTime);
        }
      }
      await delay(1);
    }
  }
}
