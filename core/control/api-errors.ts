import type { ConfigError } from '../config/errors.js';
import { configErrorsOf } from '../config/errors.js';
import { ApiError } from '../module/control.js';
import { ZoneFullError } from '../upstream/zone-full-error.js';
import { API_TEXT } from './parse-directive.js';
import { isFull, isSqliteError } from './sqlite.js';
import { StoreError, StoreGone } from './store-error.js';

/** A refused configuration change as the answer of a call: every reason, with its place in the text that came with the call. */
export function configApiError(errors: readonly ConfigError[]): ApiError {
  const [first] = errors;
  if (errors.some((error) => error instanceof ZoneFullError))
    return new ApiError(507, 'ZoneFull', first?.message ?? 'a zone is full', errors.map(detail));
  return new ApiError(400, 'ConfigError', first?.message ?? 'invalid configuration', errors.map(detail));
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

/** Why a change could not be kept: nothing was changed then. The log has the paths. */
export function storeApiError(error: unknown): unknown {
  if (isFull(error)) return new ApiError(507, 'StoreFull', 'the disk that keeps changes is full; nothing was changed');
  if (error instanceof StoreGone) return storeUnavailable('was removed or replaced while srv uses it');
  if (error instanceof StoreError || isSqliteError(error)) return storeUnavailable('cannot be written');
  return error;
}

const storeUnavailable = (what: string): ApiError => new ApiError(503, 'StoreUnavailable', `the data folder ${what}; nothing was changed`);
