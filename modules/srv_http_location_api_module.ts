import { dryRunReply, route, type ActionContext, type Call, type Reply } from '../core/module/control.js';
import { controlModule } from '../core/module/manifest.js';
import { DataPlane } from '../core/module/services.js';
import * as schemas from './srv_http_location_api_module/schemas.js';

/** What the data plane returns. */
interface Versioned {
  readonly value: unknown;
  readonly version: string;
  readonly diff: readonly string[];
  readonly next?: number;
}

/** Locations over HTTP: `/v1/dyn_loc`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_location_api_module', api: 1, key: 'dyn_loc' })
export class LocationApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', schemas.list)
  async list({ query, ...call }: Call<typeof schemas.list>): Promise<Reply> {
    const { value, version, next } = await this.dataPlane.call<Versioned>('location.list', query, call);
    return { status: 200, body: value, version, ...(next !== undefined && { next: String(next) }) };
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
    const { version, diff } = await this.dataPlane.call<Versioned>(action, params, call);
    return call.dryRun ? dryRunReply(diff) : { status: 200, body: { code: 0, msg: 'success.' }, version };
  }
}

const isForced = ({ force = '0' }: { readonly force?: string }): boolean => force !== '0' && force !== 'false';
