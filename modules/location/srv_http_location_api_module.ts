import { route, type ActionContext, type Call, type Reply } from '../core/module/control.js';
import { controlModule } from '../core/module/manifest.js';
import { DataPlane } from '../core/module/services.js';
import { isForced, readReply, writeReply, type Versioned } from '../core/module/versioned.js';
import * as schemas from './srv_http_location_api_module/schemas.js';

/** Locations over HTTP: `/v1/dyn_loc`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_location_api_module', api: 1, key: 'dyn_loc' })
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
