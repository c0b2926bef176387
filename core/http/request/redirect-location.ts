import type { Request } from './request.js';

/** Makes a Location that names a path absolute (absolute_redirect, server_name_in_redirect, port_in_redirect). */
export function completeRedirect(request: Request): void {
  const location = request.response.get('Location');
  const { settings } = request.location;
  if (location === undefined || !settings.absoluteRedirect || !location.startsWith('/')) return;
  const { secure, localPort } = request.connection;
  const host = settings.serverNameInRedirect ? request.server.name : askedHost(request);
  const standard = secure ? 443 : 80;
  const port = settings.portInRedirect && localPort !== standard && localPort !== 0 ? `:${localPort}` : '';
  request.response.set('Location', `${secure ? 'https' : 'http'}://${host}${port}${location}`);
}

/**
 * The host that the client requested. A client that named none (HTTP/1.0) gets the address it connected to, as from nginx: server_name is
 * not disclosed.
 */
function askedHost(request: Request): string {
  if (request.header('host') !== undefined) return request.host;
  const { localAddress } = request.connection;
  if (localAddress.startsWith('unix:')) return request.host;
  return localAddress.includes(':') ? `[${localAddress}]` : localAddress;
}
