import type { Tunnel } from '../../request/client-stream.js';

/** Data of the client on the stream of a CONNECT request (RFC 9113, 8.5). Until the tunnel is open it waits, as much as the window allows. */
export class TunnelInput {
  #tunnel: Tunnel | undefined = undefined;
  #early: Buffer[] = [];

  /** @param chunk the tunnel's from now on */
  receive(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#tunnel === undefined) this.#early.push(chunk);
    else this.#tunnel.fromClient(chunk, false);
  }

  /** END_STREAM came. */
  end(): void {
    this.#tunnel?.clientEnded();
  }

  /** @param hasEnded the client has sent everything already */
  open(tunnel: Tunnel, hasEnded: boolean): void {
    const early = this.#early;
    this.#early = [];
    this.#tunnel = tunnel;
    for (const chunk of early) tunnel.fromClient(chunk, false);
    if (hasEnded) tunnel.clientEnded();
  }
}
