import { formatAddress, type Address } from '../contract/address.js';
import { AcceptedConnection } from './accepted-connection.js';

/** A connection that another listener has accepted, and its server has passed on. */
export class PassedConnection extends AcceptedConnection {
  /** How often it was passed on. */
  readonly passes: number;
  /** Callbacks for the end of the connection, one for each server that has passed it on: a socket has no place for that many listeners. */
  readonly #ends: (() => void)[];

  /**
   * @param client the address that the server before knew the client by
   * @param address what it was passed to
   * @param end called when it is closed
   */
  constructor(
    from: AcceptedConnection,
    private readonly client: { readonly remoteAddress: string; readonly remotePort: number },
    address: Address,
    end: () => void,
  ) {
    super(
      from.socket,
      client.remoteAddress,
      'path' in address ? { address: formatAddress(address), port: 0 } : { address: address.host, port: address.port },
      from.acceptedAt,
    );
    const isFirst = !(from instanceof PassedConnection);
    this.passes = isFirst ? 1 : from.passes + 1;
    this.#ends = isFirst ? [] : from.#ends;
    this.#ends.push(end);
    this.proxy = from.proxy;
    this.secure = from.secure;
    this.tls = from.tls;
    this.alpn = from.alpn;
    this.serverName = from.serverName;
    this.clientAuthority = from.clientAuthority;
    this.certificate = from.certificate;
    const ends = this.#ends;
    if (isFirst) from.socket.once('close', () => ends.forEach((one) => one()));
  }

  override get remotePort(): number {
    return this.client.remotePort;
  }
}
