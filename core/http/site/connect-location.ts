import type { Location } from './location.js';
import type { RequestServer } from './virtual-server.js';

/**
 * The location that opens the tunnels of CONNECT requests, which have no path: the server itself if it has a handler for them, else the
 * location of the path `/` if that one has. Undefined: the server opens no tunnels, and nothing of it applies to CONNECT.
 */
export function connectLocation({ fallback, locations }: RequestServer): Location | undefined {
  if (fallback.connect !== undefined) return fallback;
  const { location } = locations.find('/');
  return location !== undefined && !location.settings.internal && opensTunnels(location) ? location : undefined;
}

function opensTunnels({ connect, branches }: Location): boolean {
  if (connect !== undefined) return true;
  for (const branch of branches?.values() ?? []) if (branch.connect !== undefined) return true;
  return false;
}
