import { freePort } from './ports.js';
import type { Scope } from './scope.js';

/** Replaces `%%PORT_x%%` and `%%PREFIX%%`. Ports are remembered in `ports`, by name. */
export async function fillPlaceholders(t: Scope, text: string, prefix: string, ports: Map<string, number>): Promise<string> {
  for (const [, name] of text.matchAll(/%%PORT_(\w+)%%/g)) if (name !== undefined && !ports.has(name)) ports.set(name, await freePort(t));
  return text.replaceAll('%%PREFIX%%', prefix).replace(/%%PORT_(\w+)%%/g, (_, name: string) => String(ports.get(name)));
}
