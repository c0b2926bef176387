import type { Resource } from 'dns2';
import { chainEnd } from './alias-chain.js';
import { domainName } from './domain-name.js';
import type { SentInquiry, Inquiries } from './inquiries.js';
import type { InquiryEnd } from './inquiry.js';
import type { Question, DnsReply } from './records.js';
import type { ResolveErrorCode } from './resolve-error.js';

const NXDOMAIN = 3;
/** Questions that a search asks at most: a server that resolves aliases itself needs one. */
const MOST_QUESTIONS = 8;

/** Result of a search: records of one type. */
export interface Found {
  /** Empty without an error: the name has none. */
  readonly records: readonly Resource[];
  readonly error: ResolveErrorCode | undefined;
  /** Seconds: of the records, or for which it may be remembered that there are none. Undefined: nothing is known of that. */
  readonly ttl: number | undefined;
}

const failed = (error: ResolveErrorCode): Found => ({ records: [], error, ttl: undefined });

/** Looks for the records of one type that a name has, through aliases whose end a server leaves to its clients. */
export class RecordSearch {
  #asked = 1;
  #asking: SentInquiry;
  /** Seconds: the least of the aliases so far. */
  #ttl = Infinity;

  /** @param onEnd is called once, unless the search is closed, and never before the constructor has returned */
  constructor(
    private question: Question,
    private readonly inquiries: Inquiries,
    private readonly deadline: number,
    private readonly onEnd: (found: Found) => void,
  ) {
    this.#asking = this.#ask();
  }

  close(): void {
    this.#asking.close();
  }

  #ask(): SentInquiry {
    return this.inquiries.ask(this.question, this.deadline, (end) => this.#onReply(end));
  }

  #onReply(end: InquiryEnd): void {
    if (typeof end === 'string') this.onEnd(failed(end));
    else this.#follow(end);
  }

  #follow(reply: DnsReply): void {
    const { name, records, ttl } = chainEnd(reply, this.question);
    this.#ttl = Math.min(this.#ttl, ttl);
    const next = name === undefined ? undefined : domainName(name);
    if (next === undefined) this.onEnd(failed('servfail'));
    else if (records.length > 0) this.onEnd({ records, error: undefined, ttl: this.#ttl });
    else if (reply.rcode === NXDOMAIN) this.onEnd({ records, error: 'nxdomain', ttl: reply.negativeTtl });
    else if (next === this.question.name || reply.negativeTtl !== undefined)
      this.onEnd({ records, error: undefined, ttl: reply.negativeTtl });
    else if (this.#asked++ === MOST_QUESTIONS) this.onEnd(failed('servfail'));
    else {
      this.question = { name: next, type: this.question.type };
      this.#asking = this.#ask();
    }
  }
}
