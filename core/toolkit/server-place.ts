/** Virtual servers as calls of the API name them: by address and name. */
import { ApiError } from '../contract/control.js';
import { ArgError } from '../contract/spec.js';
import type { VirtualServers, VirtualServerView } from '../contract/virtual-servers.js';

export interface ServerPlace {
  /** As `listen` takes it: `0.0.0.0:80`. */
  readonly addr_port: string;
  /** One or more of its names, separated by blanks; absent: the default server of the address. */
  readonly server_name?: string;
}

/**
 * The server that a call names.
 * @throws ApiError 404 `ServerNotFound`; 400 `InvalidField` when the address or a name is none
 */
export function serverAt(servers: VirtualServers, { addr_port: address, server_name: text }: ServerPlace): VirtualServerView {
  const names: (string | undefined)[] = text === undefined ? [undefined] : namesIn(text);
  const found = new Set(names.map((name) => serverNamed(servers, address, name)?.directive));
  const [server] = found.size === 1 ? [serverNamed(servers, address, names[0])] : [];
  if (server !== undefined) return server;
  const called = text === undefined ? '' : ` called "${text}"`;
  const other = servers.at(address).length === 0 ? 'no server listens there' : found.size > 1 ? 'these are names of several servers' : '';
  throw new ApiError(404, 'ServerNotFound', `no server${called} at "${address}"${other === '' ? '' : `: ${other}`}`);
}

/** Names separated by blanks; none is the empty name, that of a server without `server_name`. */
export function namesIn(text: string): string[] {
  const names = text.split(/\s+/).filter((name) => name !== '');
  return names.length === 0 ? [''] : names;
}

/** The server that has one name at an address. @throws ApiError 400 `InvalidField` */
export function serverNamed(servers: VirtualServers, address: string, name: string | undefined): VirtualServerView | undefined {
  try {
    return servers.find(address, name);
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    const pointer = isAddress(servers, address) ? '/server_name' : '/addr_port';
    throw new ApiError(400, 'InvalidField', error.message, [{ pointer, message: error.message }]);
  }
}

function isAddress(servers: VirtualServers, address: string): boolean {
  try {
    servers.at(address);
    return true;
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    return false;
  }
}
