import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeResponses } from '../contract/cluster.js';
import type { RedisConnection } from '../contract/redis.js';

/** Time that nodes have to respond, and how often the one that asks looks. Milliseconds. */
const RESPONSE_MS = 1000;
const LOOK_MS = 10;
/** Responses that were not read are gone after this time. Milliseconds. */
const KEPT_MS = 10_000;

type Responder = (params: unknown) => unknown;

interface Question {
  readonly id: string;
  /** The node that asks. */
  readonly node: string;
  readonly topic: string;
  readonly params: unknown;
}

/** Questions of one node to the others: they travel as news of the configuration, and the responses to each are a hash in Redis. */
export class NodeQuestions {
  readonly #responders = new Map<string, Responder>();

  constructor(private readonly nodeName: () => string) {}

  respond(topic: string, responder: Responder): void {
    this.#responders.set(topic, responder);
  }

  /** The response of this node. @throws what the responder throws */
  own(topic: string, params: unknown): unknown {
    const responder = this.#responders.get(topic);
    if (responder === undefined) throw new Error(`no module responds to "${topic}"`);
    return responder(params);
  }

  /** @param names of the other nodes @throws RedisFailure */
  async ask(connection: RedisConnection, topic: string, params: unknown, names: readonly string[]): Promise<NodeResponses> {
    if (names.length === 0) return new Map();
    const id = String(randomInt(2 ** 47));
    const key = keyOf(connection, id);
    const question: Question = { id, node: this.nodeName(), topic, params };
    await connection.command('XADD', `${connection.keys}config:news`, 'MAXLEN', 10, '*', 'q', JSON.stringify(question));
    for (const end = Date.now() + RESPONSE_MS; ; await delay(LOOK_MS)) {
      const reply = (await connection.command('HGETALL', key)) as readonly string[];
      if (reply.length / 2 >= names.length || Date.now() >= end) return responsesIn(reply);
    }
  }

  /** Responds to another node. @throws RedisFailure */
  async tell(connection: RedisConnection, text: string): Promise<void> {
    const { id, node, topic, params } = JSON.parse(text) as Question;
    // It has its own response.
    if (node === this.nodeName()) return;
    const key = keyOf(connection, id);
    await connection.command('HSET', key, this.nodeName(), this.#responseTo(topic, params));
    await connection.command('PEXPIRE', key, KEPT_MS);
  }

  #responseTo(topic: string, params: unknown): string {
    try {
      return JSON.stringify({ value: this.own(topic, params) });
    } catch (error) {
      return JSON.stringify({ error: (error as Error).message });
    }
  }
}

const keyOf = ({ keys }: RedisConnection, id: string): string => `${keys}responses:${id}`;

function responsesIn(reply: readonly string[]): NodeResponses {
  const responses = new Map<string, { readonly value: unknown } | { readonly error: string }>();
  for (let at = 0; at < reply.length; at += 2)
    responses.set(reply[at] ?? '', JSON.parse(reply[at + 1] ?? '') as { readonly value: unknown } | { readonly error: string });
  return responses;
}
