import { ApiError, DATA_PLANE_ERRORS, route, type Call, type Reply } from '../core/module/control.js';
import type { ExplainQuestion } from '../core/module/explain.js';
import { controlModule } from '../core/module/manifest.js';
import { DataPlane } from '../core/module/services.js';
import { explanation, explainQuery } from './srv_http_explain_api_module/schemas.js';

const explain = {
  summary:
    'What would become of a request: listener, server, location and why, the steps on its way, upstream and response. Nothing is sent or counted',
  query: explainQuery,
  responses: { 200: explanation },
  errors: [...DATA_PLANE_ERRORS, 'InvalidField'],
} as const;

/** What would become of a request, over HTTP: `/v1/explain`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_explain_api_module', api: 1, key: 'explain' })
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
  const message = `"${text}" is no header: write it as Name: value`;
  throw new ApiError(400, 'InvalidField', `?header: ${message}`, [{ pointer: '?header', message }]);
}
