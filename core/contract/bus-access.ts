/** The meeting place of a node's processes, as its broker sees it: where to listen, and who may do what. */
export abstract class BusAccess {
  /** Path of the unix socket. */
  abstract readonly socket: string;
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
