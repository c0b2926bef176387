import { action, ApiError } from '../../core/contract/control.js';
import { Explainer, ExplainError, type ExplainQuestion } from '../../core/contract/explain.js';
import { coreModule } from '../../core/contract/manifest.js';
import { ServerInfo } from '../../core/contract/server-info.js';

/** Shows how the current configuration would handle a request. The control plane adds HTTP. */
@coreModule({ name: 'srv_http_explain_module', api: 1, plane: 'data' })
export class ExplainRequests {
  constructor(
    private readonly explainer: Explainer,
    private readonly info: ServerInfo,
  ) {}

  @action('http.explain')
  explain(question: ExplainQuestion): object {
    try {
      // Lines of the error log are for its readers only.
      const { log: _log, ...explained } = this.explainer.explain(question);
      return shown(explained, `${this.info.prefix}/`) as object;
    } catch (error) {
      if (!(error instanceof ExplainError)) throw error;
      const pointer = `?${error.part === 'headers' ? 'header' : error.part}`;
      throw new ApiError(400, 'InvalidField', `${pointer}: ${error.message}`, [{ pointer, message: error.message }]);
    }
  }
}

/** Without places of files: paths of the server are not disclosed. */
function shown(value: unknown, prefix: string): unknown {
  if (typeof value === 'string') return value.replaceAll(prefix, '');
  if (Array.isArray(value)) return value.map((entry) => shown(entry, prefix));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'place');
  return Object.fromEntries(entries.map(([name, entry]) => [name, shown(entry, prefix)]));
}
