import satisfies from 'semver/functions/satisfies.js';
import { API_MINOR, API_VERSION } from '../contract/manifest.js';

/** The version of the contract that this srv has, for messages. */
export const CONTRACT_VERSION = `${API_VERSION}.${API_MINOR}`;

const VERSION = /^\d+(?:\.\d+)?$/;

/**
 * True if this srv has the contract that a module asks for: a version (`1`, `'1.1'`), which is supported by each later minor version, or a range
 * as npm has it (`^1.0`, `~1.1`, `>=1.1 <3`).
 */
export function supportsContract(api: unknown): boolean {
  if (typeof api !== 'number' && typeof api !== 'string') return false;
  const text = String(api);
  return satisfies(`${CONTRACT_VERSION}.0`, VERSION.test(text) ? `^${text}` : text);
}
