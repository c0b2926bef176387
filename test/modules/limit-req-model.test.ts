import test from 'ava';
import * as fc from 'fast-check';
import { LimitReq } from '../../modules/limit/srv_http_limit_req_module.js';
import { DECLINED, DONE } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { fakeMetrics } from '../../testing/metrics.js';
import { fakeRequest } from '../../testing/request.js';
import { fakeScope } from '../../testing/scope.js';
import { FakeTasks } from '../../testing/tasks.js';
import { FakeZones } from '../../testing/zones.js';

interface Setting {
  readonly rate: number;
  readonly burst: number;
  readonly delay: number;
}

/** One limit, and requests of one key that come at these times: what becomes of each, in milliseconds of delay, or `-1` if it is rejected. */
function real({ rate, burst, delay }: Setting, times: readonly number[]): number[] {
  const zones = new FakeZones();
  const log: Log = { write: () => undefined, enabled: () => false };
  const scope = fakeScope(LimitReq, {
    limit_req_zone: [{ key: { constant: 'k', of: () => 'k' }, zone: { name: 'z', size: 65536 }, rate, sync: undefined }],
    limit_req: [{ zone: 'z', burst: burst * 1000, delay: delay * 1000, nodelay: false }],
  });
  const check = new LimitReq(zones, log, fakeMetrics(), new FakeTasks()).compile(scope)?.preaccess;
  return times.map((now) => {
    zones.now = now;
    const request = Object.assign(fakeRequest(), { startTime: now });
    const result = check?.(request);
    if (result === 503) return -1;
    if (result === DONE) return request.delayed ?? 0;
    return result === DECLINED ? 0 : NaN;
  });
}

/**
 * The leaky bucket, plainly: requests above the rate, in thousandths, leak with the time; one that is a little older than the last one finds what that left. Rate
 * in thousandths of a request a second.
 */
function model({ rate, burst, delay }: Setting, times: readonly number[]): number[] {
  let level: number | undefined;
  let last = 0;
  return times.map((now) => {
    const above = level === undefined ? 0 : Math.max(0, level - Math.floor((rate * Math.max(now - last, 0)) / 1000) + 1000);
    if (above > burst * 1000) return -1;
    level = above;
    last = Math.max(last, now);
    return Math.max(0, Math.floor(((above - delay * 1000) * 1000) / rate));
  });
}

const setting = fc.record({
  rate: fc.constantFrom(16, 500, 1000, 10_000, 333_000),
  burst: fc.integer({ min: 0, max: 20 }),
  delay: fc.integer({ min: 0, max: 10 }),
});

test('requests are passed, delayed and rejected as a plain leaky bucket does it', (t) => {
  fc.assert(
    fc.property(setting, fc.array(fc.integer({ min: -100, max: 3000 }), { maxLength: 60 }), (limit, gaps) => {
      let now = 1_000_000;
      const times = gaps.map((gap) => (now += gap));
      return real(limit, times).join() === model(limit, times).join();
    }),
    { numRuns: 500 },
  );
  t.pass();
});
