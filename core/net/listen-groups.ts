import { ErrorCollector } from '../config/error-collector.js';
import { errorAt } from '../config/errors.js';
import { LayeredMap } from '../config/layered-map.js';
import type { Directive } from '../contract/tree.js';
import type { ListenOptions } from './listen-options.js';
import { ServerNames, type NamedServer } from './server-names.js';

/** A virtual server of a traffic engine. */
export interface ListeningServer extends NamedServer {
  readonly directive: Directive;
  readonly listens: readonly ListenOptions[];
  /** Undefined: it has no certificate. */
  readonly tls: { readonly settings: { readonly rejectsHandshake?: boolean } } | undefined;
}

/** A server that came (without `before`), went (without `after`), or is another one now. */
export interface ServerChange<S> {
  readonly before: S | undefined;
  readonly after: S | undefined;
  /** It is new, and is after all others. */
  readonly isLast: boolean;
}

/** One address and the servers that listen on it. */
export interface ListenGroup<S extends ListeningServer> {
  /** Identity of the socket of a listener. */
  readonly key: string;
  readonly options: ListenOptions;
  readonly names: ServerNames<S>;
  readonly lines: readonly ListenLine<S>[];
}

/** A server on one of its addresses. */
interface ListenLine<S> {
  readonly server: S;
  readonly options: ListenOptions;
}

/** By address. Groups that a change does not concern stay the same objects. */
export type ListenGroups<S extends ListeningServer> = LayeredMap<string, ListenGroup<S>>;

/** The addresses after a change, and which of them it concerns: also removed ones. */
export interface ChangedGroups<S extends ListeningServer> {
  readonly groups: ListenGroups<S>;
  readonly addresses: ReadonlySet<string>;
}

/**
 * The addresses of all servers. The default server of an address is the one that says so, else the first.
 * @throws ConfigErrors in nginx's wording.
 */
export function listenGroups<S extends ListeningServer>(servers: readonly S[]): ListenGroups<S> {
  const lines = servers.flatMap((server) => server.listens.map((options): ListenLine<S> => ({ server, options })));
  const errors = new ErrorCollector();
  const groups = Array.from(
    Map.groupBy(lines, ({ options }) => options.address),
    ([address, group]) => [address, groupOf(address, group as [ListenLine<S>], undefined, [], errors)] as const,
  );
  errors.throwIfAny();
  return LayeredMap.of(groups);
}

/**
 * The addresses after some servers changed.
 * @param placeOf the place of a server in the configuration, asked when one comes
 * @throws ConfigErrors as {@link listenGroups}
 */
export function changedGroups<S extends ListeningServer>(
  groups: ListenGroups<S>,
  changes: readonly ServerChange<S>[],
  placeOf: (server: S) => number,
): ChangedGroups<S> {
  const addresses = new Set<string>();
  for (const { before, after } of changes)
    for (const server of [before, after]) for (const { address } of server?.listens ?? []) addresses.add(address);
  const errors = new ErrorCollector();
  const changed = Array.from(addresses, (address) => {
    const before = groups.get(address);
    const concerned = changes.flatMap((change) => changeAt(address, change) ?? []);
    const lines = changedLines(address, before?.lines ?? [], concerned, placeOf);
    return [address, !isFilled(lines) ? undefined : groupOf(address, lines, before, concerned, errors)] as const;
  });
  errors.throwIfAny();
  return { groups: groups.with(changed), addresses };
}

function isFilled<S>(lines: readonly ListenLine<S>[]): lines is Lines<S> {
  return lines.length > 0;
}

/** Effect of a change on one address: a server may have begun or ceased to listen there. */
function changeAt<S extends ListeningServer>(address: string, { before, after, isLast }: ServerChange<S>): ServerChange<S> | undefined {
  const listening = (server: S | undefined): S | undefined =>
    server?.listens.some((options) => options.address === address) === true ? server : undefined;
  const [was, is] = [listening(before), listening(after)];
  return was === undefined && is === undefined ? undefined : { before: was, after: is, isLast };
}

function changedLines<S extends ListeningServer>(
  address: string,
  lines: readonly ListenLine<S>[],
  changes: readonly ServerChange<S>[],
  placeOf: (server: S) => number,
): readonly ListenLine<S>[] {
  let result = lines;
  let isOrdered = true;
  for (const { before, after, isLast } of changes) {
    const options = after?.listens.find((listen) => listen.address === address);
    const line = after && options && { server: after, options };
    const at = before === undefined ? -1 : result.findIndex(({ server }) => server === before);
    if (at >= 0) result = line === undefined ? result.toSpliced(at, 1) : result.with(at, line);
    else if (line !== undefined) {
      result = [...result, line];
      if (!isLast) isOrdered = false;
    }
  }
  if (isOrdered) return result;
  const places = new Map(result.map((line) => [line, placeOf(line.server)]));
  return result.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
}

type Lines<S> = readonly [ListenLine<S>, ...(readonly ListenLine<S>[])];

function groupOf<S extends ListeningServer>(
  address: string,
  lines: Lines<S>,
  before: ListenGroup<S> | undefined,
  changes: readonly ServerChange<S>[],
  errors: ErrorCollector,
): ListenGroup<S> {
  if (before !== undefined && changes.every((change) => listensAsBefore(change, before.names.defaultServer))) {
    const { defaultServer } = before.names;
    const chosen = changes.find((change) => change.before === defaultServer)?.after ?? defaultServer;
    return { ...before, names: before.names.change(lines, chosen, changes), lines };
  }
  const defaults = lines.filter(({ options }) => options.defaultServer);
  const rejectSecond = (among: readonly ListenLine<S>[], message: string): void => {
    const [, second] = among;
    if (second !== undefined) errors.add(errorAt(directiveOf(second), message));
  };
  rejectSecond(defaults, `a duplicate default server for ${address}`);
  rejectSecond(
    lines.filter(({ options }) => options.setsSocket),
    `duplicate listen options for ${address}`,
  );
  const options = merged(
    lines.map((line) => line.options),
    lines[0].options,
  );
  const chosen = defaults[0] ?? lines[0];
  // A server without a certificate cannot accept what the default server rejects.
  const bare = chosen.server.tls?.settings.rejectsHandshake === true ? lines.find(({ server }) => server.tls === undefined) : chosen;
  if (options.secure && bare !== undefined && bare.server.tls === undefined) {
    errors.add(
      errorAt(
        directiveOf(bare),
        'no "ssl_certificate" is defined for the "listen ... ssl" directive',
        undefined,
        'add ssl_certificate and ssl_certificate_key to the server',
      ),
    );
  }
  const names =
    before?.names.change(lines, chosen.server, changes) ??
    ServerNames.of(
      lines.map(({ server }) => server),
      chosen.server,
    );
  return { key: options.secure ? `${address} ssl` : address, options, names, lines };
}

/** True for a server that only has other content, and for one that comes or goes with no options: the socket stays as it is. */
function listensAsBefore<S extends ListeningServer>({ before, after, isLast }: ServerChange<S>, defaultServer: S): boolean {
  if (after === undefined) return before === undefined || (before !== defaultServer && before.listens.every(isPlain));
  if (before !== undefined) return before.listens === after.listens && before.tls === after.tls;
  return isLast && after.listens.every(isPlain);
}

function isPlain({ defaultServer, secure, setsSocket, proxyProtocol, http2 }: ListenOptions): boolean {
  return !defaultServer && !secure && !setsSocket && !proxyProtocol && !http2;
}

/** The socket options of an address are those of all its lines together. */
function merged(lines: readonly ListenOptions[], first: ListenOptions): ListenOptions {
  return {
    ...first,
    secure: lines.some((line) => line.secure),
    backlog: lines.find((line) => line.backlog !== undefined)?.backlog,
    receiveBuffer: lines.find((line) => line.receiveBuffer !== undefined)?.receiveBuffer,
    sendBuffer: lines.find((line) => line.sendBuffer !== undefined)?.sendBuffer,
    deferred: lines.some((line) => line.deferred),
    fastOpen: lines.find((line) => line.fastOpen !== undefined)?.fastOpen,
    ipv6Only: lines.every((line) => line.ipv6Only),
    keepAlive: lines.find((line) => line.keepAlive !== undefined)?.keepAlive,
    proxyProtocol: lines.some((line) => line.proxyProtocol),
    http2: lines.some((line) => line.http2),
    mode: lines.find((line) => line.mode !== undefined)?.mode,
  };
}

/** A server without a `listen` line has an address too. */
function directiveOf({ server, options }: ListenLine<ListeningServer>): Directive {
  return options.line ?? server.directive;
}
