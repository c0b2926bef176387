import type { Request } from './request.js';

/** Makes a Location that names a path absolute (absolute_redirect, server_name_in_redirect, port_in_redirect). */
export function completeRedirect(request: Request): void {
  const location = request.response.get('Location');
  const { settings } = request.location;
  if (location === undefined || !settings.absoluteRedirect || !location.startsWith('/')) return;
  const { secure, localPort } = request.connection;
  const host = settings.serverNameInRedirect ? request.server.name : request.host;
  const standard = secure ? 443 : 80;
  const port = settings.portInRedirect && localPort !== standard && localPort !== 0 ? `:${localPort}` : '';
  request.response.set('Location', `${secure ? 'https' : 'http'}://${host}${port}${location}`);
}
