import type { StoredResponse } from '../../contract/http.js';
import { BodyStore, type StoreWriter } from '../request/body-store.js';
import type { Request } from '../request/request.js';
import { StoredPieces } from '../request/stored-pieces.js';
import type { StorePlan } from '../site/temporary-path.js';

/** The body of a member's response for modules that want to have it: stored at the pace of the member, whatever becomes of the client. */
export class ResponseCopy implements StoredResponse, StoreWriter {
  readonly #store: BodyStore;
  /** How often it was given to modules that have not released it. */
  #users = 0;

  constructor(
    request: Request,
    plan: StorePlan,
    /** Lets the member go on. */
    private readonly onRoom: () => void,
  ) {
    this.#store = new BodyStore(request, plan, this, true);
  }

  /** True if it has readers, or will have. */
  get isWanted(): boolean {
    return this.#store.isNeeded && !this.#store.ended;
  }

  get isFull(): boolean {
    return this.isWanted && this.#store.isFull;
  }

  /** Another module has it. */
  share(): this {
    this.#users++;
    return this;
  }

  append(bytes: Buffer, from: number, to: number, isBorrowed: boolean): void {
    if (this.isWanted) this.#store.append(bytes.subarray(from, to), isBorrowed);
  }

  end(isTruncated: boolean): void {
    this.#store.end(isTruncated);
  }

  open(): AsyncIterableIterator<Buffer, undefined> {
    return new StoredPieces(this.#store);
  }

  release(): void {
    this.#users--;
    if (this.#users === 0) this.#store.close();
  }

  onStoreRoom(): void {
    this.onRoom();
  }

  /** Ends its readers; the client gets its response. */
  onStoreLost(): void {
    this.onRoom();
  }
}
