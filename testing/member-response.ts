/** Responses of members, and attempts at them, for unit tests of `memberResponse` and `memberAttempt`. */
import { MalformedBody, type MemberResponse, type StoredResponse } from '../core/contract/http.js';
import type { MemberAttempt } from '../core/contract/member-attempt.js';

/** Properties of a response; the others are those of an empty 200. */
export interface FakeMemberResponseOptions {
  readonly status?: number;
  /** Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In one piece, or in several. */
  readonly body?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The member cuts it off after its last piece. */
  readonly cutOff?: boolean;
}

/**
 * A response whose body is stored at once.
 *
 * ```ts
 * const response = new FakeMemberResponse({ headers: { 'Content-Type': 'text/plain' }, body: ['hel', 'lo'] });
 * handlers.memberResponse(fakeRequest(), response);
 * assert.equal(response.users, 0); // what it has stored is released
 * ```
 */
export class FakeMemberResponse implements MemberResponse {
  readonly status: number;
  /** {@link discard} was called. */
  isDiscarded = false;
  /** How often the body was stored and not released. */
  users = 0;
  readonly #fields: readonly [name: string, value: string][];
  readonly #pieces: readonly Buffer[];

  constructor(private readonly options: FakeMemberResponseOptions = {}) {
    const { status = 200, headers = {}, body = '' } = options;
    this.status = status;
    this.#fields = Object.entries(headers);
    this.#pieces = piecesOf(body).filter(({ length }) => length > 0);
  }

  /** That of a body that is cut off is not known. */
  get length(): number {
    return this.options.cutOff === true ? -1 : this.#pieces.reduce((sum, { length }) => sum + length, 0);
  }

  header(lowerName: string): string | undefined {
    const values = this.#fields.flatMap(([name, value]) => (name.toLowerCase() === lowerName ? [value] : []));
    return values.length === 0 ? undefined : values.join(', ');
  }

  headers(): [name: string, value: string][] {
    return [...this.#fields];
  }

  store(): StoredResponse {
    this.users++;
    let isReleased = false;
    return {
      open: () => this.#read(),
      release: () => {
        if (isReleased) throw new Error('the stored response was released already');
        isReleased = true;
        this.users--;
      },
    };
  }

  discard(): void {
    this.isDiscarded = true;
  }

  async *#read(): AsyncGenerator<Buffer, undefined> {
    for (const piece of this.#pieces) yield await Promise.resolve(piece);
    if (this.options.cutOff === true) throw new MalformedBody('the body is not complete');
    return undefined;
  }
}

function piecesOf(body: NonNullable<FakeMemberResponseOptions['body']>): readonly Buffer[] {
  if (typeof body === 'string') return [Buffer.from(body)];
  return body instanceof Uint8Array ? [Buffer.from(body)] : body.map((piece) => Buffer.from(piece as string));
}

/** An attempt that has just begun, with other properties as the test says. */
export function fakeAttempt(attempt: Partial<MemberAttempt> = {}): MemberAttempt {
  return {
    number: 1,
    startTime: Date.now(),
    upstream: 'upstream',
    address: '127.0.0.1:80',
    url: 'http://127.0.0.1:80/',
    isReused: false,
    status: 0,
    failure: '',
    sent: 0,
    received: 0,
    queueTime: -1,
    connectTime: -1,
    headerTime: -1,
    responseTime: -1,
    ...attempt,
  };
}
