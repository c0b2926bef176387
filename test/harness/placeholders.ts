import { freePort } from './ports.js';
import type { Scope } from './scope.js';

/** The event method of all servers under test whose configuration names none: `SRV_TEST_USE=node npm test`. */
const METHOD = process.env['SRV_TEST_USE'];

/**
 * On a busy machine the data plane is silent for longer than an operator wants to wait. A test that is about the limit writes `api_timeout` itself.
 */
const PATIENT = 'api_timeout 8s; ';
const isOfApi = (text: string): boolean => /\bdyn_module_api\b/.test(text) && !/\bapi_timeout\b/.test(text);

/** Replaces `%%PORT_x%%` and `%%PREFIX%%`. Ports are remembered in `ports`, by name. */
export async function fillPlaceholders(t: Scope, text: string, prefix: string, ports: Map<string, number>): Promise<string> {
  for (const [, name] of text.matchAll(/%%PORT_(\w+)%%/g)) if (name !== undefined && !ports.has(name)) ports.set(name, await freePort(t));
  const chosen = METHOD === undefined ? text : text.replace(/^\s*events\s*\{(?![^}]*\buse\b)/m, `$& use ${METHOD}; `);
  const patient = isOfApi(chosen) ? PATIENT + chosen : chosen;
  return patient.replaceAll('%%PREFIX%%', prefix).replace(/%%PORT_(\w+)%%/g, (_, name: string) => String(ports.get(name)));
}
