import { route, type Call, type Reply } from '../../core/contract/control.js';
import { controlModule } from '../../core/contract/manifest.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { MemberCalls } from './member-calls.js';
import { http, stream } from './schemas.js';

/** Upstreams and their members over HTTP: `/v1/upstream_api/http/upstreams/` and `…/stream/upstreams/`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_upstream_api_module', api: 1, key: 'upstream_api', dataModule: 'srv_http_upstream_member_module' })
export class UpstreamApi {
  readonly #http: MemberCalls;
  readonly #stream: MemberCalls;

  constructor(dataPlane: DataPlane) {
    this.#http = new MemberCalls('http', dataPlane);
    this.#stream = new MemberCalls('stream', dataPlane);
  }

  @route('GET', '/http/upstreams', http.listUpstreams)
  upstreams(call: Call<typeof http.listUpstreams>): Promise<Reply> {
    return this.#http.upstreams(call);
  }

  @route('GET', '/http/upstreams/:upstream', http.getUpstream)
  upstream(call: Call<typeof http.getUpstream>): Promise<Reply> {
    return this.#http.upstream(call);
  }

  @route('DELETE', '/http/upstreams/:upstream', http.resetUpstream)
  delete(call: Call<typeof http.resetUpstream>): Promise<Reply> {
    return this.#http.reset(call);
  }

  @route('POST', '/http/upstreams/:upstream/reset', http.resetUpstream)
  reset(call: Call<typeof http.resetUpstream>): Promise<Reply> {
    return this.#http.reset(call);
  }

  @route('GET', '/http/upstreams/:upstream/servers', http.listMembers)
  members(call: Call<typeof http.listMembers>): Promise<Reply> {
    return this.#http.members(call);
  }

  @route('GET', '/http/upstreams/:upstream/servers/:id', http.getMember)
  member(call: Call<typeof http.getMember>): Promise<Reply> {
    return this.#http.member(call);
  }

  @route('POST', '/http/upstreams/:upstream/servers', http.addMember)
  add(call: Call<typeof http.addMember>): Promise<Reply> {
    return this.#http.add(call);
  }

  @route('PATCH', '/http/upstreams/:upstream/servers/:id', http.changeMember)
  change(call: Call<typeof http.changeMember>): Promise<Reply> {
    return this.#http.change(call);
  }

  @route('DELETE', '/http/upstreams/:upstream/servers/:id', http.removeMember)
  remove(call: Call<typeof http.removeMember>): Promise<Reply> {
    return this.#http.remove(call);
  }

  @route('PUT', '/http/upstreams/:upstream/servers', http.replaceMembers)
  replace(call: Call<typeof http.replaceMembers>): Promise<Reply> {
    return this.#http.replace(call);
  }

  @route('GET', '/stream/upstreams', stream.listUpstreams)
  streamUpstreams(call: Call<typeof stream.listUpstreams>): Promise<Reply> {
    return this.#stream.upstreams(call);
  }

  @route('GET', '/stream/upstreams/:upstream', stream.getUpstream)
  streamUpstream(call: Call<typeof stream.getUpstream>): Promise<Reply> {
    return this.#stream.upstream(call);
  }

  @route('DELETE', '/stream/upstreams/:upstream', stream.resetUpstream)
  streamDelete(call: Call<typeof stream.resetUpstream>): Promise<Reply> {
    return this.#stream.reset(call);
  }

  @route('POST', '/stream/upstreams/:upstream/reset', stream.resetUpstream)
  streamReset(call: Call<typeof stream.resetUpstream>): Promise<Reply> {
    return this.#stream.reset(call);
  }

  @route('GET', '/stream/upstreams/:upstream/servers', stream.listMembers)
  streamMembers(call: Call<typeof stream.listMembers>): Promise<Reply> {
    return this.#stream.members(call);
  }

  @route('GET', '/stream/upstreams/:upstream/servers/:id', stream.getMember)
  streamMember(call: Call<typeof stream.getMember>): Promise<Reply> {
    return this.#stream.member(call);
  }

  @route('POST', '/stream/upstreams/:upstream/servers', stream.addMember)
  streamAdd(call: Call<typeof stream.addMember>): Promise<Reply> {
    return this.#stream.add(call);
  }

  @route('PATCH', '/stream/upstreams/:upstream/servers/:id', stream.changeMember)
  streamChange(call: Call<typeof stream.changeMember>): Promise<Reply> {
    return this.#stream.change(call);
  }

  @route('DELETE', '/stream/upstreams/:upstream/servers/:id', stream.removeMember)
  streamRemove(call: Call<typeof stream.removeMember>): Promise<Reply> {
    return this.#stream.remove(call);
  }

  @route('PUT', '/stream/upstreams/:upstream/servers', stream.replaceMembers)
  streamReplace(call: Call<typeof stream.replaceMembers>): Promise<Reply> {
    return this.#stream.replace(call);
  }
}
