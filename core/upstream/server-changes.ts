import { errorAt } from '../config/errors.js';
import type { Tree } from '../config/tree.js';
import type { Prepared } from '../config/change.js';
import type { Directive, Word } from '../contract/tree.js';
import type { Upstream } from './upstream.js';
import type { PreparedMember } from './upstream-updates.js';
import { ZoneFull } from './member-set.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { ChosenMethod } from './balancer.js';
import type { Member } from './member.js';
import { FoundRecords } from './discovery/found-records.js';
import { assertResolvable, assertShared, type NameQuery } from './discovery/name-query.js';
import { isSameServer, ServerEntry, type LineContext } from './server-line.js';
import type { ServerInForce, UpstreamBlock } from './upstream-block.js';
import { ZoneFullError } from './zone-full-error.js';
import { zoneShortage } from './zone-shortage.js';

/** Change of one `server` line. */
interface Step {
  readonly id: number;
  readonly before: ServerInForce | undefined;
  /** Undefined: it is removed. */
  readonly entry: ServerEntry | undefined;
  /** Undefined: the line names the same server as before. */
  readonly members: readonly Member[] | undefined;
}

/**
 * Prepares the changes of some `server` lines of a block. Costs what these lines are, however many others there are.
 *
 * @param ids of lines that may have come, changed or gone
 * @param pending false for a block that is not active yet
 * @throws ConfigErrors with every reason
 */
export async function prepareServers(
  block: UpstreamBlock,
  ids: Iterable<number>,
  after: Tree,
  context: LineContext,
  pending: boolean,
): Promise<Prepared> {
  const errors = new ErrorCollector();
  const found: (Step | Promise<Step>)[] = [];
  const records = new FoundRecords(block.upstream.memory, pending);
  for (const id of ids) errors.attempt(() => found.push(stepOf(block, id, after, context, pending, records)));
  // Mostly there is nothing to wait for.
  const steps = found.some((step) => step instanceof Promise) ? await settled(found, errors) : (found as Step[]);
  errors.throwIfAny();
  return prepareSteps(block, inOrder(steps), pending);
}

/** Members that were found get the room that others leave. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  const isFound = ({ entry }: Step): boolean => entry?.query !== undefined;
  return steps.some(isFound) ? [...steps.filter((step) => !isFound(step)), ...steps.filter(isFound)] : steps;
}

/** Looks for what is wrong with the `server` lines of a block that cannot be made. */
export async function checkServers(lines: Iterable<Directive>, context: LineContext, errors: ErrorCollector): Promise<void> {
  const lookups = Array.from(lines, async (line) => ServerEntry.read(line, context).lookUp(context));
  for (const result of await Promise.allSettled(lookups)) if (result.status === 'rejected') errors.add(result.reason);
}

async function settled(found: readonly (Step | Promise<Step>)[], errors: ErrorCollector): Promise<Step[]> {
  const steps: Step[] = [];
  for (const result of await Promise.allSettled(found.map((step) => Promise.resolve(step)))) {
    if (result.status === 'fulfilled') steps.push(result.value);
    else errors.add(result.reason);
  }
  return steps;
}

/** A promise only where a name has to be looked up. */
function stepOf(
  block: UpstreamBlock,
  id: number,
  after: Tree,
  context: LineContext,
  pending: boolean,
  records: FoundRecords,
): Step | Promise<Step> {
  const before = block.servers.get(id);
  const directive = after.parentOf(id)?.id === block.directive.id ? after.byId(id) : undefined;
  if (directive === undefined) return { id, before, entry: undefined, members: [] };
  assertSupported(directive, block.method);
  const entry = ServerEntry.read(directive, context);
  if (entry.query !== undefined) assertFollowed(entry.query, directive, { block, after, context });
  if (before !== undefined && isSameServer(before.directive, directive)) return { id, before, entry, members: undefined };
  const members = block.upstream.owned ? entry.lookUp(context, block) : entry.lookInto(block.upstream, pending, records);
  return members instanceof Promise ? members.then((found) => ({ id, before, entry, members: found })) : { id, before, entry, members };
}

/** @throws ConfigError where the upstream cannot have a line whose members are found */
function assertFollowed(
  query: NameQuery,
  line: Directive,
  { block, after, context }: { readonly block: UpstreamBlock; readonly after: Tree; readonly context: LineContext },
): void {
  const upstream = after.byId(block.directive.id)!;
  if (query.kind !== 'source') return assertResolvable(upstream, after.parentOf(upstream.id), block.zone !== undefined);
  assertShared(upstream, block.zone !== undefined);
  if (block.upstream.owned) context.sources.of(upstream, query.name, line);
}

/** @throws ConfigError for a parameter that the balancing method knows nothing of */
export function assertSupported(server: Directive, method: ChosenMethod | undefined): void {
  if (method?.backup === false) reject(server, 'backup', ({ text }) => text === 'backup');
  if (method?.slowStart === false) reject(server, 'slow_start', ({ text }) => SLOW_START.test(text));
}

/** One that is not zero, which is the default. */
const SLOW_START = /^slow_start=.*[1-9]/u;

function reject(server: Directive, parameter: string, isIt: (word: Word) => boolean): void {
  const word = server.args.find(isIt);
  if (word !== undefined) throw errorAt(server, `balancing method does not support parameter "${parameter}"`, word);
}

function prepareSteps(block: UpstreamBlock, steps: readonly Step[], pending: boolean): Prepared {
  const done: PreparedMember[] = [];
  const servers: (readonly [id: number, server: ServerInForce | undefined])[] = [];
  try {
    for (const step of steps) servers.push([step.id, prepareStep(block.upstream, step, pending, done)]);
  } catch (error) {
    const failure = error instanceof ZoneFull ? zoneFull(block.upstream, steps, servers.length) : error;
    for (const part of done.toReversed()) part.abort();
    throw failure;
  }
  return {
    commit() {
      for (const part of done) part.commit();
      for (const [id, server] of servers) {
        if (server === undefined) block.servers.delete(id);
        else block.servers.set(id, server);
      }
      for (const { id, entry } of steps) {
        if (entry?.query === undefined) block.names.delete(id);
        else block.names.set(id, entry);
      }
    },
    abort() {
      for (const part of done.toReversed()) part.abort();
    },
  };
}

/** @param done takes what is prepared */
function prepareStep(
  upstream: Upstream,
  { before, entry, members }: Step,
  pending: boolean,
  done: PreparedMember[],
): ServerInForce | undefined {
  if (entry !== undefined && before !== undefined && members === undefined) {
    for (const peer of before.peers) done.push(upstream.updates.prepareChange(peer, entry.memberLike(peer)));
    return { directive: entry.directive, peers: before.peers };
  }
  for (const peer of before?.peers ?? []) done.push(upstream.updates.prepareRemove(peer));
  if (entry === undefined || members === undefined) return undefined;
  const peers = members.flatMap((member) => {
    try {
      const part = upstream.updates.prepareAdd(member, pending);
      done.push(part);
      return part.peer;
    } catch (error) {
      // Addresses of names are not part of the configuration, and do not reject it.
      if (entry.query === undefined || !(error instanceof ZoneFull)) throw error;
      return [];
    }
  });
  return { directive: entry.directive, peers };
}

/** @param at the step that found no room */
function zoneFull(upstream: Upstream, steps: readonly Step[], at: number): Error {
  const directive = steps[at]?.entry?.directive;
  if (directive === undefined) return new Error(`a removal found the zone of upstream "${upstream.name}" full`);
  const members = (some: readonly Step[]): number => some.reduce((sum, step) => sum + (step.members?.length ?? 0), 0);
  return new ZoneFullError(directive, zoneShortage(upstream, members(steps.slice(0, at)), Math.max(1, members(steps.slice(at)))));
}
