import type { Resource } from 'dns2';
import { RecordType, type Question, type DnsReply } from './records.js';

/** Aliases (CNAME) that are followed from a name. */
const MOST_ALIASES = 16;

/** Where a reply leads from a name. */
export interface ChainEnd {
  /** The name at the end of the aliases. Undefined: they go round in circles, there are too many of them, or all records are of other names. */
  readonly name: string | undefined;
  /** The records of the type in question that this name has. */
  readonly records: readonly Resource[];
  /** Seconds: the least of all records on the way, Infinity without any. */
  readonly ttl: number;
}

/** Follows the aliases in a reply. Records of other names than those on the way count for nothing. */
export function chainEnd({ answers }: DnsReply, { name, type }: Question): ChainEnd {
  let ttl = Infinity;
  let owner = name;
  if (answers.length > 0 && !answers.some((record) => record.name.toLowerCase() === name)) return { name: undefined, records: [], ttl };
  for (let aliases = 0; aliases <= MOST_ALIASES; aliases++) {
    const own = answers.filter((record) => record.name.toLowerCase() === owner);
    const records = own.filter((record) => record.type === type);
    const alias = own.find((record) => record.type === RecordType.CNAME);
    if (records.length > 0 || alias?.domain === undefined)
      return { name: owner, records, ttl: Math.min(ttl, ...records.map((record) => record.ttl)) };
    ttl = Math.min(ttl, alias.ttl);
    owner = alias.domain.toLowerCase();
  }
  return { name: undefined, records: [], ttl };
}
