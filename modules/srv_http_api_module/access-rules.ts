import { BlockList, isIP } from 'node:net';
import type { Directive } from '../../core/module/tree.js';

/** Whether a client may go on. */
export type Decision = (address: string) => boolean;

/** `allow` and `deny` lines of a block: the first that fits decides, and none lets in. @throws Error at the first line that is refused */
export function accessRules(lines: Iterable<Directive>): Decision {
  const rules = Array.from(lines, ({ name, args }) => ({ allow: isAllow(name), fits: subject(args.map((word) => word.text)) }));
  return (address) => rules.find((rule) => rule.fits(address))?.allow ?? true;
}

function isAllow(name: string): boolean {
  if (name === 'allow' || name === 'deny') return name === 'allow';
  if (name.startsWith('auth_')) throw new Error(`"${name}" is not available yet`);
  throw new Error(`unknown directive "${name}"`);
}

function subject([value, ...more]: readonly string[]): Decision {
  if (value === undefined || more.length > 0) throw new Error('invalid number of arguments in an access rule');
  if (value === 'all') return () => true;
  if (value === 'unix:') return (address) => address === 'unix:';
  const [network = '', prefix] = value.split('/');
  const family = isIP(network);
  const longest = family === 6 ? 128 : 32;
  if (family === 0 || (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > longest)))
    throw new Error(`invalid parameter "${value}"`);
  const list = new BlockList();
  list.addSubnet(network, prefix === undefined ? longest : Number(prefix), family === 6 ? 'ipv6' : 'ipv4');
  return (address) => {
    const plain = plainAddress(address);
    const kind = isIP(plain);
    return kind !== 0 && list.check(plain, kind === 6 ? 'ipv6' : 'ipv4');
  };
}

/** A v4 client of a v6 socket under its v4 address. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
