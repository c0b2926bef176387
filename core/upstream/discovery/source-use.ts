import { inspect } from 'node:util';
import { parseAddress } from '../../contract/address.js';
import type { FollowedSource, FoundServer, TakeServers } from '../../contract/members.js';
import type { Log } from '../../contract/log.js';
import { stackOf } from '../../contract/thrown.js';
import type { ChosenSource } from '../member-sources.js';
import type { NameUse } from './discovery.js';
import type { FoundAddress } from './found-address.js';
import type { NameFollower } from './watched-name.js';

/** Stands for the name that an address has in SRV records. */
const TARGET = '-';
const MOST_WEIGHT = 65535;

/** The servers of a source, as one `server` line uses them. */
export class SourceUse implements NameUse {
  #addresses: readonly FoundAddress[] | undefined = undefined;
  #followed: FollowedSource | undefined;
  #hasEnded = false;

  /** @param follower hears of each list; never before {@link follow} */
  constructor(
    private readonly source: ChosenSource,
    private readonly follower: NameFollower,
    private readonly log: Pick<Log, 'write'>,
  ) {}

  get addresses(): readonly FoundAddress[] | undefined {
    return this.#addresses;
  }

  isUnknown(): boolean {
    return false;
  }

  follow(): void {
    this.#attempt(() => (this.#followed = this.source.follow(this.#take)));
  }

  release(): void {
    this.#hasEnded = true;
    this.#attempt(() => this.#followed?.end());
  }

  readonly #take: TakeServers = (servers) => {
    if (this.#hasEnded) return;
    this.#addresses = Array.from(servers, addressOf);
    this.follower.replied();
  };

  #attempt(step: () => unknown): void {
    try {
      step();
    } catch (error) {
      this.log.write('error', `${this.source.module}: its source of servers failed: ${stackOf(error)}`);
    }
  }
}

/** @throws RangeError */
function addressOf({ address, weight = 1, backup = false }: FoundServer): FoundAddress {
  const parsed = parsedAddress(address);
  if (parsed === undefined || !('address' in parsed) || 'path' in parsed.address)
    throw new RangeError(`the address of a server must be IP:PORT, not ${shown(address)}`);
  if (!(Number.isInteger(weight) && weight >= 1 && weight <= MOST_WEIGHT))
    throw new RangeError(`the weight of a server must be a whole number from 1 to ${MOST_WEIGHT}, not ${shown(weight)}`);
  if (typeof backup !== 'boolean') throw new RangeError(`"backup" of a server must be true or false, not ${shown(backup)}`);
  return { ...parsed.address, service: weight === 1 && !backup ? undefined : { target: TARGET, weight, isLower: backup } };
}

/** Whatever a module gives, in one line of a log. */
const shown = (value: unknown): string => inspect(value, { depth: 0, maxStringLength: 64, breakLength: Infinity });

function parsedAddress(text: unknown): ReturnType<typeof parseAddress> | undefined {
  try {
    return typeof text === 'string' ? parseAddress(text, undefined) : undefined;
  } catch {
    return undefined;
  }
}
