/** Where a datagram came from, and where it went to. Valid as long as its bytes. */
export interface DatagramSource {
  /** Its address and port, as a text that is the same for all datagrams of one sender. */
  readonly sender: string;
  readonly address: string;
  readonly port: number;
  /** The address of this machine that it was sent to, with {@link DatagramOptions.reportsDestination} and where it is known. */
  readonly to: string | undefined;
}

/** The ends of what is sent to one client. */
export interface DatagramEnds {
  /** Of the client. */
  readonly address: string;
  readonly port: number;
  /** The own address that datagrams come from; undefined: the system chooses. */
  readonly to: string | undefined;
  /** The same in the form of the system, made with the first datagram. */
  encoded?: { readonly name: Uint8Array; readonly source: Uint8Array | undefined } | undefined;
}

/** Handles what a socket receives. */
export interface DatagramReceiver {
  /** @param bytes a datagram, also an empty one; they are valid during the call alone */
  onDatagram(bytes: Buffer, source: DatagramSource): void;
  /** The system reports an error. `EMFILE`: nothing the other side did. A connected socket: `ECONNREFUSED` says that there is no listener. */
  onSocketError(error: NodeJS.ErrnoException): void;
  /** The system had no room for a datagram that was to be sent. */
  onDropped?(error: NodeJS.ErrnoException): void;
}

export interface DatagramOptions {
  /** Every worker has a socket of its own on the address (SO_REUSEPORT). */
  readonly reusePort?: boolean;
  readonly ipv6Only?: boolean;
  /** It is bound to all addresses: each datagram comes with the one that it was sent to. */
  readonly reportsDestination?: boolean;
  /** Bytes; undefined: the system's default. */
  readonly receiveBuffer?: number | undefined;
  readonly sendBuffer?: number | undefined;
}

/** One UDP socket. Addresses are numeric, so that everything happens at once, and errors are thrown where they arise. */
export interface Datagrams {
  /** Datagrams that found no room in the queue of what is to be sent. */
  readonly dropped: number;
  readonly isOpen: boolean;
  /** Its number. */
  readonly descriptor: number | undefined;
  /** The port that it is bound to. */
  readonly port: number;
  /** The address that it is bound to; of one that is connected the address that it sends from. */
  readonly address: string | undefined;

  /**
   * @param port 0: any
   * @throws Error of the system: EADDRINUSE, EACCES, EMFILE …
   */
  bind(address: string, port: number): void;

  /** Uses a socket that is bound already. @param descriptor is closed with this */
  adopt(descriptor: number): void;

  /**
   * From now on it sends to, and receives from, this address alone. It is bound already.
   * @returns false: it failed; {@link DatagramReceiver.onSocketError} says why (ENETUNREACH …), after this call
   */
  connect(address: string, port: number): boolean;

  /** Sends a datagram to the address that it is connected to. False: it was dropped. */
  send(bytes: Buffer): boolean;

  /** As {@link send}, from a socket that is not connected. It may leave at the end of the turn of the event loop, and be {@link dropped} then. */
  sendTo(bytes: Buffer, ends: DatagramEnds): boolean;

  /** As `Connection.unref`. */
  unref?(): void;

  close(): void;
}
