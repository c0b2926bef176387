import { binaryAddress } from '../../contract/binary-address.js';
import type { Scope } from '../../contract/http.js';
import type { Directive } from '../../contract/tree.js';
import type { LocationAccess } from './location-access.js';
import { parseListen, type ListenOptions } from '../../net/listen-options.js';

/** First byte of 127.0.0.0/8, and the bytes of ::1. */
const LOOPBACK_V4 = '\x7f';
const LOOPBACK_V6 = `${'\0'.repeat(15)}\x01`;

/** An address of a server that other machines reach. */
export interface ExposedAddress {
  readonly address: string;
  readonly isEncrypted: boolean;
  readonly line: Directive | undefined;
}

/** The addresses of the server around a location that are neither loopback nor a unix socket. */
export function exposedAddresses(scope: Scope): ExposedAddress[] {
  const lines = [...(serverOf(scope)?.directive?.block?.named('listen') ?? [])];
  if (lines.length === 0) return [{ address: '*', isEncrypted: false, line: undefined }];
  return lines.flatMap((line) =>
    listensOf(line, scope)
      .filter(isExposed)
      .map(({ address, secure }) => ({ address, isEncrypted: secure, line })),
  );
}

function serverOf(scope: Scope): Scope | undefined {
  let server: Scope | undefined = scope;
  while (server !== undefined && server.kind !== 'server') server = server.parent;
  return server;
}

function listensOf(line: Directive, scope: Scope): ListenOptions[] {
  try {
    const words = line.args.map(({ text }) => text);
    return parseListen(words, (relative) => scope.args.path(relative));
  } catch {
    // The server has this error.
    return [];
  }
}

function isExposed({ host, path }: ListenOptions): boolean {
  if (path !== undefined) return false;
  const bytes = binaryAddress(host);
  return !(bytes === LOOPBACK_V6 || (bytes.length === 4 && bytes.startsWith(LOOPBACK_V4)));
}

/**
 * An API that anybody can reach has to know its clients.
 * @throws ConfigError at the `listen` line
 */
export function assertNotExposed(scope: Scope, access: LocationAccess): void {
  const exposed = exposedAddresses(scope);
  if (!hasAuthentication(scope)) {
    for (const { address, isEncrypted, line } of exposed) {
      if (access.isProtected(isEncrypted)) continue;
      const remedy = 'use "api_tokens" with a file that "srv token add" makes, or listen on 127.0.0.1 or on a unix socket';
      scope.fail(`the API on "${address}" requires clients to authenticate`, line, remedy);
    }
  }
  const plain = exposed.find(({ isEncrypted }) => !isEncrypted);
  if (access.settings.tokenFile !== undefined && plain !== undefined)
    scope.advise(`tokens for the API on "${plain.address}" are sent unencrypted, use "listen ... ssl"`, plain.line);
}

/** True if every user of this machine may change the configuration: over TCP, without authentication. */
export function isOpenToUsers(scope: Scope, access: LocationAccess): boolean {
  if (access.settings.isReadOnly || hasAuthentication(scope)) return false;
  const lines = [...(serverOf(scope)?.directive?.block?.named('listen') ?? [])];
  const listens = lines.flatMap((line) => listensOf(line, scope)).filter(({ path }) => path === undefined);
  return lines.length === 0 ? !access.isProtected(false) : listens.some(({ secure }) => !access.isProtected(secure));
}

/**
 * Every request of the location is authenticated by another module. With `satisfy any` it is not: an `allow` that fits lets clients in without
 * a password.
 */
function hasAuthentication(scope: Scope): boolean {
  if (scope.lines('satisfy').some(({ args }) => args[0]?.text === 'any')) return false;
  if (scope.lines('auth_request').some(({ args }) => args[0]?.text !== 'off')) return true;
  const exceptions = [...(scope.directive?.block?.named('limit_except') ?? [])];
  const realms = [...scope.lines('auth_basic'), ...exceptions.flatMap(({ block }) => [...(block?.named('auth_basic') ?? [])])];
  return realms.length > 0 && !realms.some(mayBeOff) && scope.lines('auth_basic_user_file').length > 0;
}

/** A realm is off by its text, or by that of the variables that it begins with. */
function mayBeOff({ args }: Directive): boolean {
  const [text = ''] = args[0]?.text.split('$', 1) ?? [];
  return 'off'.startsWith(text);
}
