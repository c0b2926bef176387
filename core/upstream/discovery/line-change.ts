import type { Member } from '../member.js';
import type { Peer } from '../peer.js';
import type { ServerEntry } from '../server-line.js';
import { foundText, membersAmong, type FoundAddress } from './found-address.js';

/** Change that gives a line members at the addresses of its name. */
export interface LineChange {
  readonly added: readonly Member[];
  /** The same members with what other records say of them. */
  readonly changed: readonly (readonly [peer: Peer, member: Member])[];
  readonly removed: readonly Peer[];
}

/**
 * Compares the members of a line with the addresses of its name. Members whose address stays are left alone.
 * @param isUnknown whether a member stays although its address is not among them: it could not be looked up
 * @param nextIndex gives a number that no address of the line has
 */
export function changeOfLine(
  entry: ServerEntry,
  peers: readonly Peer[],
  addresses: readonly FoundAddress[],
  isUnknown: (found: FoundAddress) => boolean,
  nextIndex: () => number,
): LineChange | undefined {
  const wanted = new Map(membersAmong(addresses, entry.parameters));
  const changed: [Peer, Member][] = [];
  const removed: Peer[] = [];
  for (const peer of peers) {
    const found = wanted.get(peer.server);
    wanted.delete(peer.server);
    if (found === undefined) {
      if (peer.member.found === undefined || !isUnknown(peer.member.found)) removed.push(peer);
    } else if (peer.member.found === undefined || foundText(peer.member.found) !== foundText(found))
      changed.push([peer, entry.memberAt({ index: peer.member.addressIndex, found })]);
  }
  if (wanted.size === 0 && changed.length === 0 && removed.length === 0) return undefined;
  const added = Array.from(wanted.values(), (found) => entry.memberAt({ index: nextIndex(), found }));
  return { added, changed, removed };
}
