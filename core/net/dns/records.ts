import type { Resource } from 'dns2';

export const RecordType = { A: 1, CNAME: 5, SOA: 6, AAAA: 28, SRV: 33 } as const;
export type RecordType = (typeof RecordType)[keyof typeof RecordType];

export interface Question {
  readonly name: string;
  readonly type: RecordType;
}

/** A response to a question, its records decoded. */
export interface DnsReply {
  readonly rcode: number;
  readonly answers: readonly Resource[];
  /** Seconds for which it may be remembered that there is nothing (RFC 2308, 5); undefined: the response has no SOA record. */
  readonly negativeTtl: number | undefined;
}
