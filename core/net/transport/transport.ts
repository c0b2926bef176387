/** Makes sockets: the only place that knows which implementation is in use. The interfaces are in the files beside it. */
import type { DatagramOptions, DatagramReceiver, Datagrams } from './datagrams.js';
import { NodeDatagrams } from './node/datagrams.js';

/** A socket for datagrams that is not bound yet. @param address of the family that it is for */
export function createDatagrams(address: string, receiver: DatagramReceiver, options?: DatagramOptions): Datagrams {
  return new NodeDatagrams(address, receiver, options);
}
