import { networkInterfaces } from 'node:os';
import { plainAddress } from '../contract/binary-address.js';
import type { DatagramReceiver } from './transport/datagrams.js';
import { NodeTransport } from './transport/transport.js';

const NO_RECEIVER: DatagramReceiver = { onDatagram: () => undefined, onSocketError: () => undefined };

/** True if connections to an address end on this machine. Some system calls: not for what happens often. */
export function isLocalAddress(host: string): boolean {
  const plain = plainAddress(host).split('%', 1)[0] ?? '';
  if (plain.startsWith('127.')) return true;
  const listed = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === plain));
  return listed || isOwnSource(plain);
}

/**
 * Addresses of interfaces without a carrier and of local routes are not listed. The system sends to itself from the very address that it
 * sends to. Nothing is sent here.
 */
function isOwnSource(host: string): boolean {
  const socket = new NodeTransport().datagrams(host, NO_RECEIVER);
  try {
    socket.bind(host.includes(':') ? '::' : '0.0.0.0', 0);
    return socket.connect(host, 9) && socket.address === host;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}
