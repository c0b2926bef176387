import { dryRunReply, route, type ActionContext, type Call, type Reply } from '../core/module/control.js';
import { controlModule } from '../core/module/manifest.js';
import { DataPlane } from '../core/module/services.js';
import { readReply, writeReply, type Versioned } from '../core/module/versioned.js';
import * as schemas from './srv_http_upstream_api_module/schemas.js';

/** Upstreams and their members over HTTP: `/v1/upstream_api/http/upstreams/`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_upstream_api_module', api: 1, key: 'upstream_api' })
export class UpstreamApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '/http/upstreams', schemas.listUpstreams)
  async upstreams({ query, ...call }: Call<typeof schemas.listUpstreams>): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.list', query, call));
  }

  @route('GET', '/http/upstreams/:upstream', schemas.getUpstream)
  upstream(call: Call): Promise<Reply> {
    return this.#read('upstream.get', call.params, call);
  }

  @route('DELETE', '/http/upstreams/:upstream', schemas.resetUpstream)
  delete(call: Call): Promise<Reply> {
    return this.reset(call);
  }

  @route('POST', '/http/upstreams/:upstream/reset', schemas.resetUpstream)
  async reset(call: Call): Promise<Reply> {
    await this.dataPlane.call('upstream.reset', call.params, call);
    return call.dryRun ? dryRunReply([]) : { status: 204 };
  }

  @route('GET', '/http/upstreams/:upstream/servers', schemas.listMembers)
  async members({ query, ...call }: Call<typeof schemas.listMembers>): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.members', { ...call.params, ...query }, call));
  }

  @route('GET', '/http/upstreams/:upstream/servers/:id', schemas.getMember)
  member(call: Call): Promise<Reply> {
    return this.#read('upstream.member', call.params, call);
  }

  @route('POST', '/http/upstreams/:upstream/servers', schemas.addMember)
  async add({ body, ...call }: Call<typeof schemas.addMember>): Promise<Reply> {
    const { upstream = '' } = call.params;
    const reply = await this.#write('upstream.add', { upstream, fields: body }, call);
    if (call.dryRun) return reply;
    const { id } = reply.body as { id: number };
    const place = `${call.base}/v1/upstream_api/http/upstreams/${encodeURIComponent(upstream)}/servers/${id}`;
    return { ...reply, status: 201, headers: { Location: place } };
  }

  @route('PATCH', '/http/upstreams/:upstream/servers/:id', schemas.changeMember)
  change({ body, ...call }: Call<typeof schemas.changeMember>): Promise<Reply> {
    return this.#write('upstream.change', { ...call.params, fields: body }, call);
  }

  @route('DELETE', '/http/upstreams/:upstream/servers/:id', schemas.removeMember)
  remove(call: Call): Promise<Reply> {
    return this.#write('upstream.remove', { ...call.params, minimal: call.minimal }, call);
  }

  @route('PUT', '/http/upstreams/:upstream/servers', schemas.replaceMembers)
  replace({ body, ...call }: Call<typeof schemas.replaceMembers>): Promise<Reply> {
    return this.#write('upstream.replace', { ...call.params, list: body, minimal: call.minimal }, call);
  }

  async #read(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>(action, params, call));
  }

  async #write(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return writeReply(call, await this.dataPlane.call<Versioned>(action, params, call));
  }
}
