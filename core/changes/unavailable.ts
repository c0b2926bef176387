import { ApiError } from '../contract/control.js';

export function unavailable(reason: string): ApiError {
  return new ApiError(503, 'DataPlaneUnavailable', `the data plane ${reason}`);
}
