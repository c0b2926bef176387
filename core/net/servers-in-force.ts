import { upstreamInput } from '../config/holdings.js';
import type { InputUsers } from '../config/input-users.js';
import type { Tree } from '../config/tree.js';
import type { Directive } from '../contract/tree.js';
import { VirtualServers, type VirtualServerView } from '../contract/virtual-servers.js';
import type { ListenGroups, ListeningServer } from './listen-groups.js';
import type { ServerDialect } from './server-dialect.js';
import { parseServerName } from './server-names.js';

/** Servers of a traffic engine. */
interface ServingEngine<S extends ListeningServer> {
  readonly configuration: { readonly servers: { values(): Iterable<S> }; readonly users: InputUsers } | undefined;
  readonly groups: ListenGroups<S>;
}

/** Tables of the current configuration. */
interface InForce {
  readonly tree: Tree;
  /** Absolute path of a unix socket that `listen` names. */
  readonly path: (relative: string) => string;
}

/** The servers of one traffic engine. */
export class ServersInForce<S extends ListeningServer> extends VirtualServers {
  constructor(
    private readonly engine: ServingEngine<S>,
    private readonly dialect: ServerDialect,
    private readonly inForce: () => InForce,
  ) {
    super();
  }

  *all(): Generator<VirtualServerView> {
    for (const server of this.engine.configuration?.servers.values() ?? []) yield viewOf(server);
  }

  at(address: string): readonly VirtualServerView[] {
    const group = this.#group(address);
    if (group === undefined) return [];
    const { defaultServer } = group.names;
    const others = group.lines.filter(({ server }) => server !== defaultServer);
    return [defaultServer, ...others.map(({ server }) => server)].map(viewOf);
  }

  find(address: string, name: string | undefined): VirtualServerView | undefined {
    const names = this.#group(address)?.names;
    const server = name === undefined ? names?.defaultServer : names?.named(parseServerName(name));
    return server && viewOf(server);
  }

  *usersOf(upstream: string): Generator<readonly Directive[]> {
    const { tree } = this.inForce();
    for (const id of this.engine.configuration?.users.get(upstreamInput(upstream))?.keys() ?? []) yield tree.pathOf(id);
  }

  #group(address: string) {
    const options = this.dialect.address(address, this.inForce().path);
    return options && this.engine.groups.get(options.address);
  }
}

function viewOf({ directive, listens }: ListeningServer): VirtualServerView {
  return {
    directive,
    addresses: listens.map(({ address }) => address),
    names: Array.from(directive.block?.named('server_name') ?? []).flatMap(({ args }) => args.map(({ text }) => text)),
  };
}
