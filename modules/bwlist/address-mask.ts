/** Networks as calls write them: an address and a mask. */
import { isIP, SocketAddress } from 'node:net';
import { binaryAddress } from '../../core/contract/binary-address.js';
import { parseNetwork, type Network } from '../../core/contract/network.js';

export type Family = Network['family'];

/** A network with its mask written out: `10.0.0.0`, `255.0.0.0`. */
export interface Masked {
  readonly addr: string;
  readonly mask: string;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** The network without a host part in its name: `0.0.0.0/0`, `::/0`. */
export const ANYBODY = { ipv4: '0.0.0.0/0', ipv6: '::/0' } as const;

export function maskedNetwork({ address, prefix, family }: Network): Masked {
  return { addr: address, mask: maskOf(prefix, family) };
}

/**
 * The network as `allow` has it: `10.0.0.0/8`, `10.0.0.1`.
 * @param mask `255.0.0.0`, `ffff::`, or the number of bits in common; absent: all of them
 * @returns what is wrong with it, by field
 */
export function networkText(
  addr: string,
  mask: string | number | undefined,
  family: Family,
): { readonly text: string } | { readonly wrong: keyof Masked } {
  if (isIP(addr) !== (family === 'ipv4' ? 4 : 6) || parseNetwork(addr) === undefined) return { wrong: 'addr' };
  const prefix = mask === undefined ? BITS[family] : prefixOf(String(mask), family);
  if (prefix === undefined) return { wrong: 'mask' };
  return { text: prefix === BITS[family] ? addr : `${addr}/${prefix}` };
}

function prefixOf(mask: string, family: Family): number | undefined {
  if (/^\d{1,3}$/.test(mask)) return Number(mask) <= BITS[family] ? Number(mask) : undefined;
  if (isIP(mask) !== (family === 'ipv4' ? 4 : 6) || mask.includes('%')) return undefined;
  const bits = Array.from(binaryAddress(mask), (byte) => byte.charCodeAt(0).toString(2).padStart(8, '0')).join('');
  return /^1*0*$/.test(bits) ? bits.replaceAll('0', '').length : undefined;
}

function maskOf(prefix: number, family: Family): string {
  const bits = '1'.repeat(prefix).padEnd(BITS[family], '0');
  if (family === 'ipv4') return (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)).join('.');
  const groups = (bits.match(/.{16}/g) ?? []).map((group) => Number.parseInt(group, 2).toString(16));
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
}
