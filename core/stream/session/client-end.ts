import type { Address } from '../../contract/address.js';
import type { Conversation, ConversationOptions, SessionClient, StreamSession } from '../../contract/stream.js';
import type { ConnectionTaker } from '../../net/listener-directory.js';
import type { StreamServerNames } from '../site/server.js';
import type { StreamVariables } from '../site/variables.js';
import type { Session } from './session.js';

/** The address that a session came to, with what is configured for it now. */
export interface SessionListener {
  /** As the log shows it: `0.0.0.0:53`. */
  readonly serverAddress: string;
  readonly names: StreamServerNames;
  readonly variables: StreamVariables;
}

/**
 * The client's side of a session: a connection, or the datagrams of one client. It reads from the client, and runs what comes before the
 * content: TLS.
 */
export interface ClientEnd {
  readonly protocol: StreamSession['protocol'];
  readonly facts: SessionClient;
  /**
   * Makes the client's side ready for `preread` and `content`: the TLS handshake.
   * @returns false: it continues the session later, or has ended it
   */
  prepare(session: Session): boolean;
  /** Data that was received and is not passed on yet. */
  readonly held: Buffer;
  /** Calls {@link Session.continue} when there is more of {@link held}, and when the client sends no more. */
  waitForMore(): void;
  /** The session goes on with what there is. */
  endWait(): void;
  /** The client has sent its last byte. */
  readonly hasEnded: boolean;
  /** Sends bytes that must not be changed any more; `then` when they are out, or the client is gone. */
  send(bytes: Uint8Array, then: () => void): void;
  /** Lets a module read and write. Absent over UDP. */
  converse?(session: Session, options: ConversationOptions): Conversation;
  /** How often the connection was passed on by servers. Undefined: it is none. */
  readonly passes?: number;
  /**
   * Gives the connection to a listener that serves an address.
   * @param client the address that modules know the client by
   * @param then called when it is closed
   */
  passTo?(listener: ConnectionTaker, address: Address, client: SessionClient, then: () => void): void;
  /** The session is over: what was sent still goes out. */
  close(): void;
}
