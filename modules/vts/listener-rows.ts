import type { ConnectionTls } from '../../core/contract/client-connection.js';
import type { ConnectionObserver } from '../../core/contract/client-connections.js';
import type { FigureRow, FigureTable } from '../../core/contract/figures.js';
import { HANDSHAKE_FAILURES, handshakeFailure } from '../../core/toolkit/handshake-failure.js';
import { CIPHER_FAMILIES, keyOf, ListenerFigure, LISTENER_SHAPE, TLS_PROTOCOLS } from './layout.js';

/** Connections and handshakes of the listeners in one worker. */
export class ListenerRows implements ConnectionObserver {
  readonly #rows = new Map<string, FigureRow | undefined>();
  #table: FigureTable | undefined;

  /** @param tables that in use; undefined: nothing is counted */
  constructor(private readonly tables: { readonly current: FigureTable | undefined }) {}

  accepted(address: string): void {
    const row = this.#row(address);
    row?.add(ListenerFigure.Accepted, 1);
    row?.move(0, 1);
  }

  rejected(address: string): void {
    this.#row(address)?.add(ListenerFigure.Rejected, 1);
  }

  closed(address: string): void {
    this.#row(address)?.move(0, -1);
  }

  handshake(address: string, { protocol, cipher, isReused }: ConnectionTls): void {
    const row = this.#row(address);
    row?.add(ListenerFigure.Handshakes, 1);
    if (isReused) row?.add(ListenerFigure.Resumed, 1);
    row?.add(ListenerFigure.Protocols + placeOf(TLS_PROTOCOLS, protocol), 1);
    row?.add(ListenerFigure.Ciphers + placeOf(CIPHER_FAMILIES, familyOf(cipher)), 1);
  }

  handshakeFailed(address: string, reason: string): void {
    const row = this.#row(address);
    row?.add(ListenerFigure.Failed, 1);
    row?.add(ListenerFigure.Failures + HANDSHAKE_FAILURES.indexOf(handshakeFailure(reason)), 1);
  }

  /** The rows are not valid any more. */
  clear(): void {
    this.#rows.clear();
  }

  #row(address: string): FigureRow | undefined {
    const table = this.tables.current;
    if (table !== this.#table) this.clear();
    this.#table = table;
    if (!this.#rows.has(address)) this.#rows.set(address, table?.row(keyOf('listener', address), LISTENER_SHAPE));
    return this.#rows.get(address);
  }
}

/** The last name is that of all others. */
function placeOf(names: readonly string[], name: string): number {
  const place = names.indexOf(name);
  return place < 0 ? names.length - 1 : place;
}

function familyOf(cipher: string): string {
  if (cipher.includes('CHACHA20')) return 'chacha20';
  if (!cipher.includes('AES')) return 'other';
  return cipher.includes('GCM') ? 'aes_gcm' : cipher.includes('CCM') ? 'aes_ccm' : 'aes_cbc';
}
