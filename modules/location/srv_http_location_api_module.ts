import { route, type ActionContext, type Call, type Reply } from '../../core/contract/control.js';
import { controlModule } from '../../core/contract/manifest.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { isForced, readReply, writeReply, type Versioned } from '../../core/contract/versioned.js';
import * as schemas from './schemas.js';

/** Locations over HTTP: `/v1/dyn_loc`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_location_api_module', api: 1, key: 'dyn_loc', dataModule: 'srv_http_location_module' })
export class LocationApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', schemas.list)
  async list({ query, ...call }: Call<typeof schemas.list>): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('location.list', query, call));
  }

  @route('POST', '', schemas.add)
  add({ body, ...call }: Call<typeof schemas.add>): Promise<Reply> {
    return this.#write('location.add', body, call);
  }

  @route('PATCH', '', schemas.change)
  change({ body, query, ...call }: Call<typeof schemas.change>): Promise<Reply> {
    return this.#write('location.change', { ...body, force: isForced(query) }, call);
  }

  @route('PUT', '', schemas.remove)
  remove({ body, query, ...call }: Call<typeof schemas.remove>): Promise<Reply> {
    return this.#write('location.remove', { ...body, force: isForced(query) }, call);
  }

  async #write(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return writeReply(call, await this.dataPlane.call<Versioned>(action, params, call));
  }
}
