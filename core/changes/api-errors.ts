import type { ConfigError } from '../config/errors.js';
import { configErrorsOf } from '../config/errors.js';
import { ApiError } from '../contract/control.js';
import type { Source } from '../contract/tree.js';
import { ListenError } from '../net/listen-error.js';
import { ZoneFullError } from '../upstream/zone-full-error.js';
import { placeInCall, type CallPlace } from './parse-directive.js';
import { isFull, isSqliteError } from './sqlite.js';
import { StoreError, StoreGone } from './store-error.js';

/**
 * Configuration errors as an ApiError: every reason, with its place in the text that came with the call. Everything else as it is.
 * @param folders of the server: they are left out of paths
 * @param placeOf where in the call, or in the configuration, a text is
 */
export function asApiError(error: unknown, folders: readonly string[] = [], placeOf: PlaceOf = placeInCall): unknown {
  const errors = configErrorsOf(error);
  if (errors === undefined) return error;
  const details = errors.map((one) => detail(one, folders, placeOf));
  const { message = 'invalid configuration' } = details[0] ?? {};
  if (errors.some((one) => one instanceof ZoneFullError)) return new ApiError(507, 'ZoneFull', message, details);
  if (errors.every((one) => one instanceof ListenError)) return new ApiError(409, 'ListenFailed', message, details);
  return new ApiError(400, 'ConfigError', message, details);
}

type PlaceOf = (source: Source) => CallPlace | undefined;

interface Detail extends CallPlace {
  readonly message: string;
  readonly hint?: string;
}

/** Places in files of the server are not named to callers, and that a zone is full is the fault of no place. */
function detail(error: ConfigError, folders: readonly string[], placeOf: PlaceOf): Detail {
  const { message, source, hint } = error;
  const place = source !== undefined && !(error instanceof ZoneFullError) ? placeOf(source) : undefined;
  const text = place?.place === undefined ? message : `${message} in "${place.place}"`;
  return { message: withoutFolders(text, folders), ...place, ...(hint !== undefined && { hint: withoutFolders(hint, folders) }) };
}

/** A text that callers see, with paths as they are below the folders. */
export function withoutFolders(text: string, folders: readonly string[]): string {
  return folders.toSorted((a, b) => b.length - a.length).reduce((shorter, folder) => shorter.replaceAll(`${folder}/`, ''), text);
}

/** Why a change could not be kept: nothing was changed then. The log has the paths. */
export function storeApiError(error: unknown): unknown {
  if (isFull(error)) return new ApiError(507, 'StoreFull', 'the disk of the data folder is full; nothing was changed');
  if (error instanceof StoreGone) return storeUnavailable('was removed or replaced while srv uses it');
  if (error instanceof StoreError || isSqliteError(error)) return storeUnavailable('cannot be written');
  return error;
}

const storeUnavailable = (what: string): ApiError => new ApiError(503, 'StoreUnavailable', `the data folder ${what}; nothing was changed`);
