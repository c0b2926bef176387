import { formatAddress, parseAddress, type Address } from '../../contract/address.js';
import type { MemberParameters } from '../member.js';

/** An address that a name was resolved to. */
export interface FoundAddress {
  readonly host: string;
  readonly port: number;
  /** The SRV record that it came from; undefined: it came from an address record. */
  readonly service: ServiceShare | undefined;
}

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

/** In the form in which a zone keeps it for the other threads: `10.0.0.1:80`, `10.0.0.1:80 5 a.example`, `10.0.0.1:80 5 a.example lower`. */
export function foundText(found: FoundAddress): string {
  const address = formatAddress(addressOf(found));
  if (found.service === undefined) return address;
  const { weight, target, isLower } = found.service;
  return `${address} ${weight} ${target}${isLower ? ' lower' : ''}`;
}

/** Reads the text of {@link foundText}. */
export function foundOf(text: string): FoundAddress {
  const [address = '', weight, target = '', rank] = text.split(' ');
  const parsed = parseAddress(address, undefined);
  if (!('address' in parsed) || 'path' in parsed.address) throw new Error(`not an address: "${text}"`);
  const service = weight === undefined ? undefined : { target, weight: Number(weight), isLower: rank === 'lower' };
  return { ...parsed.address, service };
}

/**
 * The parameters of a member that was found, by those of its `server` line: the weight of the line, where it has one, takes precedence over
 * that of the record, and records of a lower priority are backup servers (nginx: `service`).
 */
export function parametersOf(line: MemberParameters, { service }: FoundAddress): MemberParameters {
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
