import { setTimeout as delay } from 'node:timers/promises';
import type { JsonResponse } from '../harness/client.js';
import type { ChaosNode } from './chaos-node.js';
import type { Increment } from './histories.js';

/** Responses that clients have. */
export class ClientRecord {
  readonly counters = new Map<string, Increment[]>();
  /** Pairs and members that were acknowledged. */
  readonly pairs: string[] = [];
  readonly members: string[] = [];
  /** Members that were rejected. */
  readonly rejected: string[] = [];
  made = 0;
  refused = 0;
  unknown = 0;
}

const COUNTERS = ['x', 'y', 'z'];

type Outcome = 'made' | 'refused' | 'unknown' | 'conflict';

/** A lost connection, and a 503 that does not say that nothing was changed, leave the outcome open. */
async function outcomeOf(call: Promise<JsonResponse>): Promise<Outcome> {
  const reply = await call.catch(() => undefined);
  if (reply === undefined) return 'unknown';
  if (reply.status < 300) return 'made';
  if (reply.status === 412 || reply.status === 409) return 'conflict';
  return reply.status === 503 && reply.body.includes('nothing was changed') ? 'refused' : 'unknown';
}

/** One client: pairs of its own, counters that it shares with the others, and members, at a random node each time. */
export async function write(nodes: readonly ChaosNode[], client: number, record: ClientRecord, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node?.serves !== true) {
      await delay(10);
      continue;
    }
    const outcomes = [await increment(node, record, COUNTERS[n % COUNTERS.length] ?? 'x'), await put(node, record, `${client}-${n}`)];
    if (n % 4 === 0) outcomes.push(await addMember(node, record, `10.${client + 1}.${(n >> 10) & 255}.${(n >> 2) & 255}:80`));
    record.made += outcomes.filter((outcome) => outcome === 'made').length;
    record.refused += outcomes.filter((outcome) => outcome === 'refused').length;
    record.unknown += outcomes.filter((outcome) => outcome === 'unknown').length;
    if (!outcomes.includes('made')) await delay(20);
  }
}

async function increment(node: ChaosNode, record: ClientRecord, key: string): Promise<Outcome> {
  const known = await node.call('GET', `/kv/keys/${key}`).catch(() => undefined);
  if (known === undefined || (known.status !== 200 && known.status !== 404)) return 'refused';
  const value = known.status === 404 ? 1 : Number((known.json as { value: string }).value) + 1;
  const condition: Record<string, string> = known.status === 404 ? { 'if-none-match': '*' } : { 'if-match': String(known.headers['etag']) };
  const began = performance.now();
  const outcome = await outcomeOf(node.call('PUT', `/kv/keys/${key}`, { value: String(value) }, condition));
  const history = record.counters.get(key) ?? [];
  record.counters.set(key, history);
  if (outcome === 'made' || outcome === 'unknown') history.push({ value, began, ended: performance.now(), outcome });
  return outcome;
}

async function put(node: ChaosNode, record: ClientRecord, key: string): Promise<Outcome> {
  const outcome = await outcomeOf(node.call('PUT', `/kv/keys/${key}`, { value: key }));
  if (outcome === 'made') record.pairs.push(key);
  return outcome;
}

async function addMember(node: ChaosNode, record: ClientRecord, server: string): Promise<Outcome> {
  const outcome = await outcomeOf(node.call('POST', '/upstream_api/http/upstreams/demo/servers/', { server }));
  if (outcome === 'made') record.members.push(server);
  if (outcome === 'refused') record.rejected.push(server);
  return outcome;
}

/** Requests to a node that serves: what failed, and how long each took (milliseconds). */
export async function browse(node: ChaosNode, times: number[], failed: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(10);
    if (!node.serves) continue;
    const began = performance.now();
    try {
      const { status } = await node.web();
      if (status !== 200) failed.push(`${node.name}: ${status}`);
    } catch (error) {
      // It was killed or paused meanwhile.
      if (node.serves) failed.push(`${node.name}: ${(error as Error).message}`);
      continue;
    }
    if (node.serves) times.push(performance.now() - began);
  }
}
