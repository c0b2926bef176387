import { NodeContext } from './node/tls/node-context.js';
import type { TlsContextOptions } from './tls.js';

/** Settings of one side of TLS. Each implementation makes an object of its own for them when that is needed. */
export class TlsContext {
  #node: NodeContext | undefined = undefined;

  constructor(readonly options: TlsContextOptions) {}

  /** For handshakes by Node.js. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  get node(): NodeContext {
    return (this.#node ??= new NodeContext(this.options));
  }

  /** Makes it for Node.js, which every thread can. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  assertUsable(): void {
    void this.node;
  }
}
