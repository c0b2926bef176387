import { formatAddress, parseAddress, type Address } from '../../contract/address.js';
import type { MemberLimits } from '../../contract/members.js';
import type { MemberParameters } from '../member.js';

/** An address that a name was resolved to. */
export interface FoundAddress {
  readonly host: string;
  readonly port: number;
  /** The SRV record that it came from; undefined: it came from an address record. */
  readonly service: ServiceShare | undefined;
  /** Parameters that its source gives it. */
  readonly limits?: MemberLimits;
}

export const LIMITS = ['maxConns', 'maxFails', 'failTimeout', 'slowStart'] as const satisfies (keyof MemberLimits)[];

/** The share of the requests that an SRV record asks for. */
export interface ServiceShare {
  /** The host that it names. */
  readonly target: string;
  readonly weight: number;
  /** Other records of the service have a higher priority, which is a lower number. */
  readonly isLower: boolean;
}

/** An address and its number among all addresses that a `server` line has had. Numbers begin with 1: 0 is the line itself. */
export interface NumberedAddress {
  readonly index: number;
  readonly found: FoundAddress;
}

export const familyOf = (host: string): 4 | 6 => (host.includes(':') ? 6 : 4);

export const addressOf = ({ host, port }: FoundAddress): Address => ({ host, port });

/**
 * In the form in which a zone keeps it for the other threads: `10.0.0.1:80`, `10.0.0.1:80 5 a.example`, `10.0.0.1:80 5 a.example lower`. Limits
 * follow: `10.0.0.1:80 maxConns=8`.
 */
export function foundText(found: FoundAddress): string {
  const address = formatAddress(addressOf(found));
  const { service, limits } = found;
  const share = service === undefined ? '' : ` ${service.weight} ${service.target}${service.isLower ? ' lower' : ''}`;
  if (limits === undefined) return address + share;
  return address + share + LIMITS.map((name) => (limits[name] === undefined ? '' : ` ${name}=${limits[name]}`)).join('');
}

/** Reads the text of {@link foundText}. */
export function foundOf(text: string): FoundAddress {
  const words = text.split(' ');
  const firstLimit = words.findIndex((word) => word.includes('='));
  const limits = firstLimit < 0 ? undefined : limitsOf(words.splice(firstLimit));
  const [address = '', weight, target = '', rank] = words;
  const parsed = parseAddress(address, undefined);
  if (!('address' in parsed) || 'path' in parsed.address) throw new Error(`not an address: "${text}"`);
  const service = weight === undefined ? undefined : { target, weight: Number(weight), isLower: rank === 'lower' };
  return { ...parsed.address, service, ...(limits && { limits }) };
}

function limitsOf(words: readonly string[]): MemberLimits {
  return Object.fromEntries(
    words.map((word) => {
      const [name = '', value] = word.split('=');
      return [name, Number(value)];
    }),
  );
}

/**
 * The parameters of a member that was found, by those of its `server` line: the weight of the line, where it has one, takes precedence over
 * that of the record, and records of a lower priority are backup servers (nginx: `service`).
 */
export function parametersOf(line: MemberParameters, { service, limits }: FoundAddress): MemberParameters {
  if (limits !== undefined) return { ...shareOf(line, service), ...limits };
  return shareOf(line, service);
}

function shareOf(line: MemberParameters, service: ServiceShare | undefined): MemberParameters {
  if (service === undefined) return line;
  const weight = line.weight === 1 ? Math.max(service.weight, 1) : line.weight;
  const backup = line.backup || service.isLower;
  return weight === line.weight && backup === line.backup ? line : { ...line, weight, backup };
}

/** The addresses that a line makes members of. A backup line has the records of the highest priority only (nginx: `service`). */
export function membersAmong(addresses: readonly FoundAddress[], { backup }: MemberParameters): ReadonlyMap<string, FoundAddress> {
  const members = new Map<string, FoundAddress>();
  for (const found of addresses) {
    if (backup && found.service?.isLower === true) continue;
    const text = formatAddress(addressOf(found));
    if (!members.has(text)) members.set(text, found);
  }
  return members;
}
