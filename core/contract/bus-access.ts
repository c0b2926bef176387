import type { Duplex } from 'node:stream';

/** A socket that listens for the processes of the node. */
export interface BusListening {
  /** Accepts no more. A socket that has its path by now, of the next start, stays. */
  close(): void;
}

/** The meeting place of a node's processes, as its broker sees it: its socket, and who may do what. */
export abstract class BusAccess {
  /**
   * Listens on the unix socket of the node, to which only its user can connect.
   * @throws Error of the system (rejects)
   */
  abstract listen(accept: (connection: Duplex) => void): Promise<BusListening>;
  /** Longest packet in bytes. */
  abstract readonly maxPacket: number;
  abstract authenticate(clientId: string, user: string | undefined, password: Buffer | undefined): boolean;
  /** True for a program that reads events: it gets what it is quick enough for. */
  abstract isReader(clientId: string): boolean;
  abstract mayPublish(clientId: string, topic: string): boolean;
  /** True if the broker keeps a message for later subscribers. */
  abstract mayRetain(clientId: string, topic: string): boolean;
  abstract maySubscribe(clientId: string, topic: string): boolean;
}
