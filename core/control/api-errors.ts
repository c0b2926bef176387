import type { ConfigError } from '../config/errors.js';
import { configErrorsOf } from '../config/errors.js';
import { ApiError } from '../module/control.js';
import { ZoneFullError } from '../upstream/zone-full-error.js';
import { API_TEXT } from './parse-directive.js';

/** A refused configuration change as the answer of a call: every reason, with its place in the text that came with the call. */
export function configApiError(errors: readonly ConfigError[]): ApiError {
  const [first] = errors;
  if (errors.some((error) => error instanceof ZoneFullError))
    return new ApiError(507, 'ZoneFull', first?.message ?? 'a zone is full', errors.map(detail));
  return new ApiError(400, 'ConfigError', first?.message ?? 'the configuration is refused', errors.map(detail));
}

/** Configuration errors as an ApiError; everything else as it is. */
export function asApiError(error: unknown): unknown {
  const errors = configErrorsOf(error);
  return errors === undefined ? error : configApiError(errors);
}

/** Places in files of the server are not named to callers, and that a zone is full is the fault of no place. */
function detail(error: ConfigError): unknown {
  const { message, source, hint } = error;
  const place = source?.file === API_TEXT && !(error instanceof ZoneFullError) ? { line: source.line, column: source.column } : {};
  return { message, ...place, ...(hint !== undefined && { hint }) };
}
