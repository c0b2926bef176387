import { errorAt } from '../../config/errors.js';
import { ErrorCollector } from '../../config/error-collector.js';
import type { Directive } from '../../module/tree.js';
import type { ListenOptions } from '../../net/listen-options.js';
import { ServerNames } from '../site/server-names.js';
import type { VirtualServer } from '../site/virtual-server.js';

/** One address and the servers that listen on it. */
export interface ListenGroup {
  readonly options: ListenOptions;
  readonly names: ServerNames;
  readonly servers: readonly VirtualServer[];
}

/** What makes two listeners the same socket. */
export function listenKey({ address, secure }: ListenOptions): string {
  return secure ? `${address} ssl` : address;
}

/**
 * The addresses of all servers. The default server of an address is the one that says so, else the first.
 * @throws ConfigErrors in nginx's wording.
 */
export function listenGroups(servers: readonly VirtualServer[]): ReadonlyMap<string, ListenGroup> {
  const lines = Map.groupBy(
    servers.flatMap((server) => server.listens.map((options) => ({ server, options }))),
    ({ options }) => options.address,
  );
  const groups = new Map<string, ListenGroup>();
  const errors = new ErrorCollector();
  for (const [address, group] of lines) {
    const defaults = group.filter(({ options }) => options.defaultServer);
    const refuseSecond = (among: typeof group, message: string): void => {
      const [, second] = among;
      if (second !== undefined) errors.add(errorAt(placeOf(second), message));
    };
    refuseSecond(defaults, `a duplicate default server for ${address}`);
    refuseSecond(
      group.filter(({ options }) => options.setsSocket),
      `duplicate listen options for ${address}`,
    );
    const options = merged(group.map((line) => line.options));
    const members = group.map((line) => line.server);
    const chosenLine = defaults[0] ?? group[0];
    if (chosenLine === undefined) continue;
    const chosen = chosenLine.server;
    if (options.secure && chosen.tls === undefined) {
      errors.add(
        errorAt(
          placeOf(chosenLine),
          'no "ssl_certificate" is defined for the "listen ... ssl" directive',
          undefined,
          'add ssl_certificate and ssl_certificate_key to the server',
        ),
      );
    }
    groups.set(listenKey(options), { options, names: new ServerNames(members, chosen), servers: members });
  }
  errors.throwIfAny();
  return groups;
}

/** The socket options of an address are those of all its lines together. */
function merged(lines: readonly ListenOptions[]): ListenOptions {
  const [first] = lines as readonly [ListenOptions];
  return {
    ...first,
    secure: lines.some((line) => line.secure),
    backlog: lines.find((line) => line.backlog !== undefined)?.backlog,
    ipv6Only: lines.every((line) => line.ipv6Only),
    keepAlive: lines.some((line) => line.keepAlive),
  };
}

/** A server without a `listen` line has an address too. */
function placeOf({ server, options }: { readonly server: VirtualServer; readonly options: ListenOptions }): Directive {
  return options.line ?? server.directive;
}
