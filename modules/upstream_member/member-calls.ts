import { dryRunReply, type ActionContext, type Call, type Reply } from '../../core/contract/control.js';
import type { DataPlane } from '../../core/contract/data-plane.js';
import type { EngineName } from '../../core/contract/spec.js';
import { readReply, writeReply, type Versioned } from '../../core/contract/versioned.js';

/** A call whose query or body fits the schema of its route. */
type AnyCall = Omit<Call, 'query' | 'body'> & { readonly query?: unknown; readonly body?: unknown };

/** The routes of the member API for the upstreams of one traffic engine. */
export class MemberCalls {
  constructor(
    private readonly engine: EngineName,
    private readonly dataPlane: DataPlane,
  ) {}

  async upstreams({ query, ...call }: AnyCall): Promise<Reply> {
    return this.#read('list', query, call);
  }

  upstream({ query, ...call }: AnyCall): Promise<Reply> {
    return this.#read('get', { ...call.params, ...(query as object) }, call);
  }

  async reset(call: AnyCall): Promise<Reply> {
    await this.dataPlane.call('upstream.reset', this.#of(call.params), call);
    return call.dryRun ? dryRunReply([]) : { status: 204 };
  }

  members({ query, ...call }: AnyCall): Promise<Reply> {
    return this.#read('members', { ...call.params, ...(query as object) }, call);
  }

  member(call: AnyCall): Promise<Reply> {
    return this.#read('member', call.params, call);
  }

  async add({ body, ...call }: AnyCall): Promise<Reply> {
    const { upstream = '' } = call.params;
    const reply = await this.#write('add', { upstream, fields: body }, call);
    if (call.dryRun) return reply;
    const { id } = reply.body as { id: number };
    const place = `${call.base}/v1/upstream_api/${this.engine}/upstreams/${encodeURIComponent(upstream)}/servers/${id}`;
    return { ...reply, status: 201, headers: { Location: place } };
  }

  change({ body, ...call }: AnyCall): Promise<Reply> {
    return this.#write('change', { ...call.params, fields: body }, call);
  }

  remove(call: AnyCall): Promise<Reply> {
    return this.#write('remove', { ...call.params, minimal: call.minimal }, call);
  }

  replace({ body, ...call }: AnyCall): Promise<Reply> {
    return this.#write('replace', { ...call.params, list: body, minimal: call.minimal }, call);
  }

  async #read(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>(`upstream.${action}`, this.#of(params), call));
  }

  async #write(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return writeReply(call, await this.dataPlane.call<Versioned>(`upstream.${action}`, this.#of(params), call));
  }

  #of(params: unknown): object {
    return { ...(params as object), engine: this.engine };
  }
}
