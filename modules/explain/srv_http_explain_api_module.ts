import { ApiError, DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import type { ExplainQuestion } from '../../core/contract/explain.js';
import { controlModule } from '../../core/contract/manifest.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { explanation, explainQuery } from './schemas.js';

const explain = {
  summary:
    'How a request would be handled: listener, server, location and why, the steps on its way, upstream and response. Nothing is sent or counted',
  query: explainQuery,
  responses: { 200: explanation },
  errors: [...DATA_PLANE_ERRORS, 'InvalidField'],
} as const;

/** How a request would be handled, over HTTP: `/v1/explain`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_explain_api_module', api: 1, key: 'explain', dataModule: 'srv_http_explain_module' })
export class ExplainApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', explain)
  async explain({ query: { header = [], ...query }, ...call }: Call<typeof explain>): Promise<Reply> {
    const question: ExplainQuestion = { ...query, headers: header.map(parseHeader) };
    return { status: 200, body: await this.dataPlane.call('http.explain', question, call) };
  }
}

/** @throws ApiError 400 */
function parseHeader(text: string): readonly [string, string] {
  const colon = text.indexOf(':');
  if (colon > 0) return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  const message = `"${text}" is not a header field: write it as Name: value`;
  throw new ApiError(400, 'InvalidField', `?header: ${message}`, [{ pointer: '?header', message }]);
}
