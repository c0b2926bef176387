import { AddressError, parseMemberAddress } from '../../core/contract/address.js';
import { ApiError } from '../../core/contract/control.js';
import { durationOf, type Duration } from '../../core/contract/schema.js';

const DEFAULT_PORT = 80;
/** More errors than a person reads. */
const MOST_ERRORS = 200;

type Fields = Readonly<Record<string, unknown>>;

/** Errors of a member, or of a list of members, that a schema cannot name: malformed addresses, times that are too long, wrong parents. */
export function memberErrors(body: unknown): readonly ApiError[] {
  if (!Array.isArray(body)) return isObject(body) ? errorsOf(body, '') : [];
  const parents = new Set(body.filter((entry) => isObject(entry) && entry['parent'] === undefined).map((entry: Fields) => entry['id']));
  const errors: ApiError[] = [];
  for (const [position, entry] of body.entries()) {
    if (errors.length >= MOST_ERRORS) break;
    if (!isObject(entry)) continue;
    errors.push(...errorsOf(entry, `/${position}`));
    if (entry['parent'] !== undefined && !parents.has(entry['parent']))
      errors.push(new ApiError(400, 'InvalidField', ...reported(`/${position}/parent`, 'must be the id of another entry of the list')));
  }
  return errors;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function errorsOf({ server, ...others }: Fields, at: string): ApiError[] {
  const errors = typeof server === 'string' ? addressErrors(server, `${at}/server`) : [];
  for (const name of ['fail_timeout', 'slow_start']) {
    const value = others[name];
    if (typeof value === 'string' || typeof value === 'number') errors.push(...durationErrors(value, `${at}/${name}`));
  }
  return errors;
}

/** Text and details of an error. */
function reported(pointer: string, message: string): [text: string, details: readonly unknown[]] {
  return [`${pointer}: ${message}`, [{ pointer, message }]];
}

function addressErrors(server: string, pointer: string): ApiError[] {
  try {
    parseMemberAddress(server, DEFAULT_PORT);
    return [];
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    return [new ApiError(400, 'UpstreamBadAddress', ...reported(pointer, `invalid address "${server}": ${error.reason}`))];
  }
}

function durationErrors(value: Duration, pointer: string): ApiError[] {
  try {
    durationOf(value, pointer);
    return [];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error];
  }
}
