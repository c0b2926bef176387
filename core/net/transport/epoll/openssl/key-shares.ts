import type { TlsContextOptions } from '../../tls.js';

/** Groups by their numbers (RFC 8446, 4.2.7), in the order in which OpenSSL prefers them. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [0x11ec, 'X25519MLKEM768'],
  [0x1d, 'X25519'],
  [0x17, 'secp256r1'],
  [0x1e, 'X448'],
  [0x18, 'secp384r1'],
  [0x19, 'secp521r1'],
]);

/** The settings choose the groups. */
export function choosesGroups({ ecdhCurve = 'auto', commands = [] }: TlsContextOptions): boolean {
  return ecdhCurve !== 'auto' || commands.some(({ command }) => /^(?:groups|curves)$/i.test(command));
}

/**
 * A list of groups for SSL_CTX_set1_groups_list(3): OpenSSL's usual ones in its order, with a key for one of them alone. A server that wants another one
 * by now asks for it, which takes a round trip. Undefined: there is no name for that one.
 */
export function groupsWithKeyFor(group: number): string | undefined {
  if (!NAMES.has(group)) return undefined;
  // "?": if it is known. "*": a key is sent.
  return Array.from(NAMES, ([number, name]) => (number === group ? `?*${name}` : `?${name}`)).join(':');
}
