import { inspect } from 'node:util';
import { parseAddress } from '../../contract/address.js';
import type { FollowedSource, FoundServer, MemberLimits, TakeServers } from '../../contract/members.js';
import type { Log } from '../../contract/log.js';
import { stackOf } from '../../contract/thrown.js';
import type { ChosenSource } from '../member-sources.js';
import type { NameUse } from './discovery.js';
import { LIMITS, type FoundAddress } from './found-address.js';
import type { NameFollower } from './watched-name.js';

/** Follows the addresses of a name. @throws RangeError where nothing looks names up */
export type FollowName = (name: string, port: number, follower: NameFollower) => NameUse;

/** A server of a list: an address, or a name with the addresses that it has now. */
interface Listed {
  readonly share: Pick<FoundAddress, 'service' | 'limits'>;
  readonly address: HostAddress | undefined;
  readonly name: { readonly host: string; readonly port: number } | undefined;
}

type HostAddress = Pick<FoundAddress, 'host' | 'port'>;

interface Used extends Listed {
  readonly use: NameUse | undefined;
}

/** Stands for the name that an address has in SRV records. */
const TARGET = '-';
const MOST_WEIGHT = 65535;
const MOST_LIMIT = 2 ** 31 - 1;

/** The servers of a source, as one `server` line uses them. */
export class SourceUse implements NameUse {
  #servers: readonly Used[] | undefined = undefined;
  #followed: FollowedSource | undefined;
  #hasEnded = false;

  /** @param follower hears of each list; never before {@link follow} */
  constructor(
    private readonly source: ChosenSource,
    private readonly follower: NameFollower,
    private readonly followName: FollowName,
    private readonly log: Pick<Log, 'write'>,
  ) {}

  get addresses(): readonly FoundAddress[] | undefined {
    return this.#servers?.flatMap(({ address, use, share }) =>
      (address === undefined ? (use?.addresses ?? []) : [address]).map(({ host, port }) => ({ host, port, ...share })),
    );
  }

  /** A name of the list was never looked up: any address may be one of it. */
  isUnknown(found: FoundAddress): boolean {
    return this.#servers?.some(({ use }) => use?.isUnknown(found) === true) === true;
  }

  follow(): void {
    this.#attempt(() => (this.#followed = this.source.follow(this.#take)));
  }

  release(): void {
    this.#hasEnded = true;
    this.#release(this.#servers);
    this.#attempt(() => this.#followed?.end());
  }

  readonly #take: TakeServers = (servers) => {
    if (this.#hasEnded) return;
    const listed = Array.from(servers, listedOf);
    const before = this.#servers;
    // Names that both have stay known.
    this.#servers = this.#use(listed);
    this.#release(before);
    this.follower.replied();
  };

  #use(listed: readonly Listed[]): Used[] {
    const used: Used[] = [];
    try {
      for (const server of listed) {
        const { name } = server;
        // Another follower for each: a name may be listed twice.
        const use = name && this.followName(name.host, name.port, { replied: () => this.follower.replied() });
        used.push({ ...server, use });
      }
      return used;
    } catch (error) {
      this.#release(used);
      throw error;
    }
  }

  #release(servers: readonly Used[] | undefined): void {
    for (const { use } of servers ?? []) use?.release();
  }

  #attempt(step: () => unknown): void {
    try {
      step();
    } catch (error) {
      this.log.write('error', `${this.source.module}: its source of servers failed: ${stackOf(error)}`);
    }
  }
}

/** @throws RangeError */
function listedOf({ address: text, weight = 1, backup = false, ...limits }: FoundServer): Listed {
  const parsed = parsedAddress(text);
  if (parsed === undefined) throw new RangeError(`the address of a server must be IP:PORT or NAME:PORT, not ${shown(text)}`);
  if (!isWhole(weight, 1, MOST_WEIGHT))
    throw new RangeError(`the weight of a server must be a whole number from 1 to ${MOST_WEIGHT}, not ${shown(weight)}`);
  if (typeof backup !== 'boolean') throw new RangeError(`"backup" of a server must be true or false, not ${shown(backup)}`);
  const service = weight === 1 && !backup ? undefined : { target: TARGET, weight, isLower: backup };
  return { ...parsed, share: { service, ...limitsOf(limits) } };
}

function limitsOf(given: MemberLimits): Pick<Listed['share'], 'limits'> {
  const limits = LIMITS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
  for (const [name, value] of limits)
    if (!isWhole(value, 0, MOST_LIMIT))
      throw new RangeError(`"${name}" of a server must be a whole number from 0 to ${MOST_LIMIT}, not ${shown(value)}`);
  return limits.length === 0 ? {} : { limits: Object.fromEntries(limits) };
}

const isWhole = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

/** Whatever a module gives, in one line of a log. */
const shown = (value: unknown): string => inspect(value, { depth: 0, maxStringLength: 64, breakLength: Infinity });

function parsedAddress(text: unknown): Pick<Listed, 'address' | 'name'> | undefined {
  try {
    const parsed = typeof text === 'string' ? parseAddress(text, undefined) : undefined;
    if (parsed === undefined) return undefined;
    if ('name' in parsed) return { address: undefined, name: { host: parsed.name.replace(/\.$/, ''), port: parsed.port } };
    return 'path' in parsed.address ? undefined : { address: parsed.address, name: undefined };
  } catch {
    return undefined;
  }
}
