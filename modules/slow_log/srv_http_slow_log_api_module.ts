import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import type { SlowPage } from './slow-requests.js';

const PAGE = 100;

const milliseconds = Type.Number({ minimum: 0 });
const count = Type.Integer({ minimum: 0 });
const parts = { queue: milliseconds, connect: milliseconds, first_byte: milliseconds, body: milliseconds };

const read = {
  summary: 'Read the last slow requests, with the time in each phase',
  query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: PAGE })) }),
  responses: {
    200: Type.Object(
      {
        total: Type.Integer({ minimum: 0, description: 'Slow requests since the start of the server.' }),
        lost: Type.Integer({ minimum: 0, description: 'Slow requests that were too many in a second to be kept.' }),
        requests: Type.Array(
          Type.Object({
            time: Type.String({ description: 'When the request was over, in ISO 8601.' }),
            duration: Type.Number({ description: 'Milliseconds, as all times.' }),
            phases: Type.Object({ before: milliseconds, ...parts, client: milliseconds }, { description: 'They add up to the duration.' }),
            server: Type.String(),
            client: Type.String(),
            method: Type.String(),
            uri: Type.String(),
            protocol: Type.String(),
            host: Type.String(),
            status: count,
            received: count,
            sent: count,
            attempts: Type.Array(
              Type.Object({
                upstream: Type.String(),
                address: Type.String(),
                status: count,
                reused: Type.Boolean({ description: 'The connection was kept from another request.' }),
                ...parts,
                failure: Type.Optional(Type.String()),
              }),
            ),
            request_id: Type.String(),
            worker: count,
          }),
          { description: 'The newest first; 500 are kept.' },
        ),
      },
      { title: 'SlowRequests' },
    ),
  },
  errors: DATA_PLANE_ERRORS,
} as const;

/** Slow requests by API: `/v1/slow_log`. */
@controlModule({ name: 'srv_http_slow_log_api_module', api: '1.2', key: 'slow_log', dataModule: 'srv_http_slow_log_module' })
export class SlowLogApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', read)
  async read({ query, ...call }: Call<typeof read>): Promise<Reply> {
    const { limit = PAGE } = query;
    return { status: 200, body: await this.dataPlane.call<SlowPage>('slow_log.read', { limit }, call) };
  }
}
