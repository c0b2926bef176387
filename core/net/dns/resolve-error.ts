/** Why a name could not be resolved: the codes of DNS (RFC 1035, 4.1.1), and what happens on the way to a name server. */
export type ResolveErrorCode = 'formerr' | 'servfail' | 'nxdomain' | 'notimp' | 'refused' | 'timedout' | 'unreachable' | 'closed';

/** RCODE of a response that is neither a success nor NXDOMAIN. Others are failures of the server as well. */
const CODES: ReadonlyMap<number, ResolveErrorCode> = new Map([
  [1, 'formerr'],
  [2, 'servfail'],
  [4, 'notimp'],
  [5, 'refused'],
]);

const TEXTS: Readonly<Record<ResolveErrorCode, string>> = {
  formerr: '1: Format error',
  servfail: '2: Server failure',
  nxdomain: '3: Host not found',
  notimp: '4: Unimplemented',
  refused: '5: Operation refused',
  timedout: '110: Operation timed out',
  unreachable: '111: Connection refused',
  closed: '125: Operation canceled',
};

/** @param rcode other than 0 and 3 */
export function codeOf(rcode: number): ResolveErrorCode {
  return CODES.get(rcode) ?? 'servfail';
}

/** The line of the error log, in nginx's words: `a.example could not be resolved (3: Host not found)`. */
export function notResolved(name: string, code: ResolveErrorCode): string {
  return `${name} could not be resolved (${TEXTS[code]})`;
}
