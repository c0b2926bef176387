import { action, ApiError } from '../core/module/control.js';
import { Explainer, ExplainError, type ExplainQuestion } from '../core/module/explain.js';
import { coreModule } from '../core/module/manifest.js';
import { ServerInfo } from '../core/module/services.js';

/** Says what would become of a request with the configuration in force, in the main thread. The control plane adds HTTP. */
@coreModule({ name: 'srv_http_explain_module', api: 1, plane: 'data' })
export class ExplainRequests {
  constructor(
    private readonly explainer: Explainer,
    private readonly info: ServerInfo,
  ) {}

  @action('http.explain')
  explain(question: ExplainQuestion): object {
    try {
      // What the error log would get is for those who read it.
      const { log: _log, ...explained } = this.explainer.explain(question);
      return shown(explained, `${this.info.prefix}/`) as object;
    } catch (error) {
      if (!(error instanceof ExplainError)) throw error;
      const pointer = `?${error.part === 'headers' ? 'header' : error.part}`;
      throw new ApiError(400, 'InvalidField', `${pointer}: ${error.message}`, [{ pointer, message: error.message }]);
    }
  }
}

/** Without places of files: a path of the server is nobody's business. */
function shown(value: unknown, prefix: string): unknown {
  if (typeof value === 'string') return value.replaceAll(prefix, '');
  if (Array.isArray(value)) return value.map((entry) => shown(entry, prefix));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'place');
  return Object.fromEntries(entries.map(([name, entry]) => [name, shown(entry, prefix)]));
}
