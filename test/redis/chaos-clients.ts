import { setTimeout as delay } from 'node:timers/promises';
import type { JsonResponse } from '../harness/client.js';
import type { ChaosNode } from './chaos-node.js';
import type { Swap } from './histories.js';

/** Responses that clients have. */
export class ClientRecord {
  /** Compare-and-sets of a pair, by its key. */
  readonly counters = new Map<string, Swap[]>();
  /** Changes of the field `route` of the first member with `If-Match`. */
  readonly routes: Swap[] = [];
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
const ROUTED = '/upstream_api/http/upstreams/demo/servers/0';

type Outcome = 'made' | 'refused' | 'unknown' | 'conflict';

interface Result {
  readonly outcome: Outcome;
  readonly response: string;
}

/** A lost connection, and a 503 that does not say that nothing was changed, leave the outcome open. */
async function resultOf(call: Promise<JsonResponse>): Promise<Result> {
  const reply = await call.catch((error: unknown) => error as Error);
  if (reply instanceof Error) return { outcome: 'unknown', response: reply.message };
  const { status, body } = reply;
  const response = `${status} ${body}`;
  if (status < 300) return { outcome: 'made', response };
  if (status === 412 || status === 409) return { outcome: 'conflict', response };
  return { outcome: status === 503 && body.includes('nothing was changed') ? 'refused' : 'unknown', response };
}

/** One client: pairs of its own, pairs and a member that it shares with the others, and new members, at a random node each time. */
export async function write(nodes: readonly ChaosNode[], client: number, record: ClientRecord, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node?.serves !== true) {
      await delay(10);
      continue;
    }
    const name = `${client}-${n}`;
    const outcomes = [await increment(node, record, COUNTERS[n % COUNTERS.length] ?? 'x', name), await put(node, record, name)];
    if (n % 4 === 0) outcomes.push(await addMember(node, record, `10.${client + 1}.${(n >> 10) & 255}.${(n >> 2) & 255}:80`));
    if (n % 4 === 2) outcomes.push(await setRoute(node, record, name));
    record.made += outcomes.filter((outcome) => outcome === 'made').length;
    record.refused += outcomes.filter((outcome) => outcome === 'refused').length;
    record.unknown += outcomes.filter((outcome) => outcome === 'unknown').length;
    if (!outcomes.includes('made')) await delay(20);
  }
}

/** Adds a call with its times and its outcome to a history. */
async function swap(history: Swap[], states: Pick<Swap, 'from' | 'to'>, call: Promise<JsonResponse>): Promise<Outcome> {
  const began = performance.now();
  const { outcome, response } = await resultOf(call);
  const known = outcome === 'made' || outcome === 'unknown' ? outcome : 'rejected';
  history.push({ ...states, began, ended: performance.now(), outcome: known, response: response.slice(0, 200) });
  return outcome;
}

/** The value is a number, and who wrote it. */
async function increment(node: ChaosNode, record: ClientRecord, key: string, name: string): Promise<Outcome> {
  const path = `/kv/keys/${key}`;
  const known = await node.call('GET', path).catch(() => undefined);
  if (known === undefined || (known.status !== 200 && known.status !== 404)) return 'refused';
  const history = record.counters.get(key) ?? [];
  record.counters.set(key, history);
  const from = known.status === 404 ? undefined : (known.json as { readonly value: string }).value;
  const to = `${Number.parseInt(from ?? '0', 10) + 1} by ${name}`;
  return swap(history, { from, to }, node.call('PUT', path, { value: to }, conditionOf(known)));
}

const conditionOf = ({ status, headers }: JsonResponse): Readonly<Record<string, string>> =>
  status === 404 ? { 'if-none-match': '*' } : { 'if-match': String(headers['etag']) };

async function setRoute(node: ChaosNode, record: ClientRecord, name: string): Promise<Outcome> {
  const known = await node.call('GET', ROUTED).catch(() => undefined);
  if (known?.status !== 200) return 'refused';
  const { route } = known.json as { readonly route: string };
  const from = route === '' ? undefined : route;
  return swap(record.routes, { from, to: name }, node.call('PATCH', ROUTED, { route: name }, conditionOf(known)));
}

/** The field `route` of the first member. */
export async function routeAt(node: ChaosNode): Promise<string | undefined> {
  const { json } = await node.call('GET', ROUTED);
  const { route } = json as { readonly route: string };
  return route === '' ? undefined : route;
}

async function put(node: ChaosNode, record: ClientRecord, key: string): Promise<Outcome> {
  const { outcome } = await resultOf(node.call('PUT', `/kv/keys/${key}`, { value: key }));
  if (outcome === 'made') record.pairs.push(key);
  return outcome;
}

async function addMember(node: ChaosNode, record: ClientRecord, server: string): Promise<Outcome> {
  const { outcome } = await resultOf(node.call('POST', '/upstream_api/http/upstreams/demo/servers/', { server }));
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
