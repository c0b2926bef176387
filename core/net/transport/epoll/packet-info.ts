import { addressBytes, readAddress } from './addresses.js';
import { Level } from './levels.js';
import { SocketFamily } from './socket-family.js';

/** The address of this machine that a datagram was sent to, or comes from, in a control message of the system: ip(7), RFC 3542, 6. */

/** IP_PKTINFO, IPV6_RECVPKTINFO and IPV6_PKTINFO. */
export const enum PacketInfo {
  Ip = 8,
  AskIpv6 = 49,
  Ipv6 = 50,
}

/** `struct cmsghdr` of 64 bits: where its parts are. */
const LEVEL = 8;
const TYPE = 12;
const DATA = 16;
/** `struct in_pktinfo`: the own address, after the number of the interface. */
const OWN_ADDRESS = DATA + 4;
/** Bytes of a message, and with those up to the next one. */
const IPV4 = { length: DATA + 12, space: DATA + 16 } as const;
const IPV6 = { length: DATA + 20, space: DATA + 24 } as const;
/** In the structures of addresses. */
const ADDRESS_OF_IPV4 = 4;
const ADDRESS_OF_IPV6 = 8;

/** @param control begins with a control message. Undefined: it is about something else */
export function readDestination(control: Buffer): string | undefined {
  const level = control.readInt32LE(LEVEL);
  const type = control.readInt32LE(TYPE);
  if (level === (Level.Ip as number) && type === (PacketInfo.Ip as number)) {
    return [...control.subarray(OWN_ADDRESS, OWN_ADDRESS + 4)].join('.');
  }
  if (level !== (Level.Ipv6 as number) || type !== (PacketInfo.Ipv6 as number)) return undefined;
  const address = Buffer.alloc(28);
  address.writeUInt16LE(SocketFamily.IPv6, 0);
  control.copy(address, ADDRESS_OF_IPV6, DATA, DATA + 16);
  return readAddress(address).address;
}

/** The control message of a datagram that comes from one of the own addresses. Undefined: it is none. */
export function sourceMessage(from: string, isVersion6: boolean): Buffer | undefined {
  const address = addressBytes(from, 0);
  if (address === undefined || (address.length === 16) === isVersion6) return undefined;
  const { length, space } = isVersion6 ? IPV6 : IPV4;
  const message = Buffer.alloc(space);
  message.writeUInt32LE(length, 0);
  message.writeInt32LE(isVersion6 ? Level.Ipv6 : Level.Ip, LEVEL);
  message.writeInt32LE(isVersion6 ? PacketInfo.Ipv6 : PacketInfo.Ip, TYPE);
  if (isVersion6) address.copy(message, DATA, ADDRESS_OF_IPV6, ADDRESS_OF_IPV6 + 16);
  else address.copy(message, OWN_ADDRESS, ADDRESS_OF_IPV4, ADDRESS_OF_IPV4 + 4);
  return message;
}
