/** A worker of the stress tests: sends requests to an upstream in a zone. */
import * as threads from 'node:worker_threads';
import { Upstream } from '../../core/upstream/upstream.js';
import { UpstreamMemory } from '../../core/upstream/upstream-memory.js';
import { DEFAULT_KEEPALIVE } from '../../core/upstream/keepalive.js';
import type { Peer } from '../../core/upstream/peer.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from '../zone/random.js';
import { member, StandingClock } from './upstreams.js';

export interface StressData {
  readonly zone: SharedArrayBuffer;
  readonly members: number;
  readonly worker: number;
  readonly requests: number;
  /** One of so many fails; 0: none. */
  readonly failing: number;
}

const { zone, members, worker, requests, failing } = threads.workerData as StressData;
const memory = UpstreamMemory.attach(Zone.attach('g', zone), 'g');
if (!memory) throw new Error('no upstream');
const clock = new StandingClock();
const upstream = new Upstream('g', memory, { clock, worker, owner: false, keepalive: DEFAULT_KEEPALIVE, onUnavailable: () => {} });
upstream.updates.load(Array.from({ length: members }, (_, index) => member(index + 1)));
const random = new Random(worker + 1);
const busy: Peer[] = [];
const counts: number[] = Array<number>(members).fill(0);
threads.parentPort?.postMessage('working');

function end(): void {
  const [peer] = busy.splice(random.below(busy.length), 1);
  if (!peer) return;
  const failed = failing !== 0 && random.below(failing) === 0;
  if (!failed) upstream.answered(peer, random.below(3) === 0 ? 404 : 200, 1);
  upstream.finished(peer, 100, 1000, 2);
  upstream.free(peer, failed);
}

for (let request = 0; request < requests; request++) {
  clock.now++;
  const peer = upstream.pick();
  if (peer) {
    busy.push(peer);
    counts[peer.member.key - 1]!++;
  }
  if (busy.length > 5 || !peer) end();
}
while (busy.length > 0) end();
threads.parentPort?.postMessage(counts);
