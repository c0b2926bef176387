/** Errors of calls as clients of NGINX Plus know them: its codes, and its status where that is another one. */
import { ApiError } from '../../core/contract/control.js';

/** Codes for parameters of a server, by field. */
const BAD_PARAMETER: Readonly<Record<string, string>> = {
  server: 'UpstreamBadAddress',
  weight: 'UpstreamBadWeight',
  max_conns: 'UpstreamBadMaxConns',
  max_fails: 'UpstreamBadMaxFails',
  fail_timeout: 'UpstreamBadFailTimeout',
  slow_start: 'UpstreamBadSlowStart',
  route: 'UpstreamBadRoute',
  service: 'UpstreamBadService',
};

const FORMAT_ERROR = 'UpstreamConfFormatError';

/** Codes that only clients of NGINX Plus see, and their statuses. */
const STATUSES = {
  SlabNotFound: 404,
  ServerZoneNotFound: 404,
  LocationZoneNotFound: 404,
  WorkerNotFound: 404,
  CacheNotFound: 404,
  LimitReqNotFound: 404,
  LimitConnNotFound: 404,
  ResolverZoneNotFound: 404,
  KeyvalNotFound: 404,
  KeyvalKeyNotFound: 404,
  KeyvalKeyExists: 409,
  KeyvalFormatError: 400,
} as const;

export function plusError(code: keyof typeof STATUSES, text: string): ApiError {
  return new ApiError(STATUSES[code], code, text);
}

interface Detail {
  readonly pointer: string;
  readonly message: string;
}

/** Of calls about the servers of upstreams. */
export function upstreamFailure(error: ApiError): ApiError {
  switch (error.code) {
    case 'InvalidField':
      return invalidParameter(error);
    case 'ConfigError':
      return renamed(error, 400, FORMAT_ERROR);
    case 'ZoneFull':
      return renamed(error, 400, 'UpstreamOutOfMemory');
    default:
      return bodyFailure(error);
  }
}

/** Of calls about key-value pairs. */
export function keyvalFailure(error: ApiError): ApiError {
  switch (error.code) {
    case 'InvalidField':
      return renamed(error, 400, 'KeyvalFormatError');
    case 'KeyNotFound':
      return renamed(error, 404, 'KeyvalKeyNotFound');
    default:
      return bodyFailure(error);
  }
}

function bodyFailure(error: ApiError): ApiError {
  return error.code === 'JsonError' ? renamed(error, 415, 'JsonError') : error;
}

function renamed({ message, details }: ApiError, status: number, code: string): ApiError {
  return new ApiError(status, code, message, details);
}

function invalidParameter(error: ApiError): ApiError {
  const details = error.details as readonly Detail[];
  const first = details.find(({ message }) => message === 'unknown field') ?? details[0];
  const name = first?.pointer.slice(1) ?? '';
  if (first === undefined || name === '' || first.pointer.startsWith('?')) return renamed(error, 400, FORMAT_ERROR);
  if (first.message === 'unknown field') return new ApiError(400, FORMAT_ERROR, `unknown parameter "${name}"`, error.details);
  if (first.message === 'is required') return new ApiError(400, FORMAT_ERROR, `missing "${name}" argument`, error.details);
  return new ApiError(400, BAD_PARAMETER[name] ?? FORMAT_ERROR, `invalid "${name}" value: ${first.message}`, error.details);
}
