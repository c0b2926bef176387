import { API_MINOR, API_VERSION } from '../module/manifest.js';

/** The version of the contract that this srv has, for messages. */
export const CONTRACT_VERSION = `${API_VERSION}.${API_MINOR}`;

/** True if this srv has the contract that a manifest (`1`, `'1.1'`) or a package (`^1.0`) asks for: the same version, and no later minor. */
export function supportsContract(api: unknown): boolean {
  const [, major, minor = '0'] = /^\^?(\d+)(?:\.(\d+))?$/.exec(String(api)) ?? [];
  return Number(major) === API_VERSION && Number(minor) <= API_MINOR;
}
