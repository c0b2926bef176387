import type { AcceptedConnection } from '../accepted-connection.js';
import type { NetContext } from '../net-context.js';
import { Prelude, type PreludeEnd } from './prelude.js';
import { parseProxyHeader } from './proxy-header.js';

/** Most of a broken header that the log shows. */
const LOGGED_BYTES = 107;

/** Reads the header of the PROXY protocol (`listen … proxy_protocol`). */
export class ProxyProtocol extends Prelude {
  #held: Buffer | undefined = undefined;

  constructor(connection: AcceptedConnection, context: NetContext, next: PreludeEnd) {
    super(connection, context, next, 'while reading PROXY protocol');
  }

  onData(chunk: Buffer, borrowed: boolean): void {
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    const found = parseProxyHeader(bytes);
    if (found === null) {
      // As text, and without what a terminal would take for commands.
      const shown = bytes
        .subarray(0, LOGGED_BYTES)
        .latin1Slice()
        .replaceAll(/[^\x20-\x7e]/g, '.');
      this.fail('error', `broken header: "${shown}" while reading PROXY protocol`);
    } else if (found === undefined) {
      this.#held = bytes === chunk && borrowed ? Buffer.from(bytes) : bytes;
    } else {
      this.connection.proxy = found.header;
      const rest = bytes.subarray(found.end);
      // The next prelude may need it for longer than the call.
      this.finish(rest.length === 0 ? undefined : Buffer.from(rest));
    }
  }
}
