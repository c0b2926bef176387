import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import type { TelemetryView } from './telemetry-view.js';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const time = Type.String({ description: 'In the form of ISO 8601.' });

const signal = (noun: string) => ({
  exported: count(`${noun} that the collector has accepted.`),
  dropped: Type.Object({
    queue_full: count('Too many waited.'),
    failed: count('The collector could not be reached, or did not respond as it should.'),
    rejected: count('The collector has rejected them.'),
  }),
  waiting: count(`${noun} that were not exported yet.`),
});

const read = {
  summary: 'Read the state of the export of spans, log records and figures',
  responses: {
    200: Type.Object(
      {
        endpoint: Type.Union([Type.String(), Type.Null()], { description: 'URL that spans are sent to; null: there is no otel_exporter.' }),
        ...signal('Spans'),
        logs: Type.Object(signal('Log records')),
        metrics: Type.Object(signal('Figures')),
        lastExport: Type.Union([time, Type.Null()]),
        lastFailure: Type.Union([Type.Object({ at: time, error: Type.String() }), Type.Null()]),
      },
      { title: 'TelemetryState' },
    ),
  },
  errors: DATA_PLANE_ERRORS,
} as const;

/** State of the export of spans, log records and figures: `/v1/telemetry`. */
@controlModule({ name: 'srv_http_telemetry_api_module', api: '1.2', key: 'telemetry', dataModule: 'srv_http_telemetry_module' })
export class TelemetryApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', read)
  async read(call: Call<typeof read>): Promise<Reply> {
    return { status: 200, body: await this.dataPlane.call<TelemetryView>('telemetry.status', {}, call) };
  }
}
