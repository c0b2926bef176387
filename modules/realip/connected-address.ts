import { type AddressAndPort, type Clients, proxiedClient } from '../../core/contract/network.js';
import type { ClientConnection } from '../../core/contract/client-connection.js';

/** A request or session. */
interface FromClient {
  readonly connection: Pick<ClientConnection, 'remoteAddress' | 'remotePort' | 'proxy'>;
  get(key: object): unknown;
  set(key: object, value: unknown): void;
  setClientAddress(address: string, port: number): void;
}

/** The address of the connection itself, kept with the request or session. */
const CONNECTED = {};

/** The address of its client was replaced. */
export const isReplaced = (subject: FromClient): boolean => subject.get(CONNECTED) !== undefined;

/** Original address, before it was replaced. */
function connected(subject: FromClient): AddressAndPort {
  const original = subject.get(CONNECTED) as AddressAndPort | undefined;
  return original ?? { address: subject.connection.remoteAddress, port: subject.connection.remotePort };
}

export function replaceAddress(subject: FromClient, { address, port }: AddressAndPort): void {
  subject.set(CONNECTED, connected(subject));
  subject.setClientAddress(address, port);
}

/** The client that a trusted proxy names in its PROXY header. */
export function fromProxyHeader({ connection }: FromClient, isTrusted: Clients): AddressAndPort | undefined {
  const source = connection.proxy?.source;
  return source !== undefined && isTrusted(connection.remoteAddress) ? proxiedClient(source) : undefined;
}

export const connectedVariables = {
  realip_remote_addr: (subject: FromClient) => connected(subject).address,
  realip_remote_port: (subject: FromClient) => String(connected(subject).port || ''),
};
