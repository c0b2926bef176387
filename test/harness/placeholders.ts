import { freePort } from './ports.js';
import type { Scope } from './scope.js';

/** The event method of all servers under test whose configuration names none: `SRV_TEST_USE=node npm test`. */
const METHOD = process.env['SRV_TEST_USE'];

/** Replaces `%%PORT_x%%` and `%%PREFIX%%`. Ports are remembered in `ports`, by name. */
export async function fillPlaceholders(t: Scope, text: string, prefix: string, ports: Map<string, number>): Promise<string> {
  for (const [, name] of text.matchAll(/%%PORT_(\w+)%%/g)) if (name !== undefined && !ports.has(name)) ports.set(name, await freePort(t));
  const chosen = METHOD === undefined ? text : text.replace(/^\s*events\s*\{(?![^}]*\buse\b)/m, `$& use ${METHOD}; `);
  return chosen.replaceAll('%%PREFIX%%', prefix).replace(/%%PORT_(\w+)%%/g, (_, name: string) => String(ports.get(name)));
}
