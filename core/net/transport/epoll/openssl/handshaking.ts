import type { SecuringUser } from '../../tls.js';
import { Ready } from '../loop.js';
import type { Later, TlsEngine } from './engine.js';
import { Handshake, type TlsStream } from './tls-stream.js';

/** The handshake of a connection, step by step. */
export class Handshaking {
  /** It goes on in a later turn. */
  isPostponed = false;

  /** @param user waits for the end of the handshake */
  constructor(
    private readonly engine: TlsEngine,
    private readonly stream: TlsStream,
    readonly user: SecuringUser,
  ) {}

  /** Events that it goes on with. */
  get waitsFor(): number {
    return this.isPostponed ? Ready.PeerEnded : this.stream.waitsFor;
  }

  /** @param one goes on later, where other handshakes come first */
  step(one: Later): Handshake {
    this.isPostponed = this.engine.isBusy;
    if (!this.isPostponed) return this.stream.handshake();
    this.engine.postpone(one);
    return Handshake.Waits;
  }
}
