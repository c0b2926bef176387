import { ErrorCollector } from '../config/error-collector.js';
import type { Holdings } from '../config/holdings.js';
import { IdMap, type IdMapDraft } from '../config/id-map.js';
import { InputUsersDraft, type InputUsers } from '../config/input-users.js';
import { ScopeNode, type StaysOutside } from '../config/scope.js';
import { serverIds } from '../config/server-places.js';
import { touchedBy, type TouchedBlock, type TreeChange } from '../config/touched-blocks.js';
import type { EngineName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ListeningServer, ServerChange } from './listen-groups.js';
import type { CompiledServers } from './server-follower.js';

/** A compiled `server` block. */
export interface CompiledServer extends ListeningServer {
  readonly node: ScopeNode;
  readonly holdings: Holdings;
}

/** The compiled block of an engine. It never changes: a change makes another one that shares unchanged parts. */
export interface EngineConfiguration<S extends CompiledServer> {
  readonly main: ScopeNode;
  /** By the id of the `http` or `stream` directive: a file may have it several times. */
  readonly blocks: ReadonlyMap<number, ScopeNode>;
  /** By the id of the `server` directive. */
  readonly servers: IdMap<S>;
  /** Servers, and locations in them, by what they were made of besides their blocks, see {@link Holdings.inputs}. */
  readonly users: InputUsers;
}

/** One run of the compiler of an engine: the servers of its block, as far as a change concerns them. */
export abstract class ServerCompilation<S extends CompiledServer> {
  protected readonly errors = new ErrorCollector();
  protected readonly users = new InputUsersDraft();

  /** @param again ids of servers, and locations in them, to compile although their blocks are the same */
  constructor(
    private readonly engine: EngineName,
    protected readonly staysOutside: StaysOutside,
    protected readonly change: TreeChange,
    private readonly previous: EngineConfiguration<S> | undefined,
    protected readonly again: ReadonlySet<number>,
  ) {}

  /** @throws ConfigErrors with everything that is wrong */
  run(): CompiledServers<S, EngineConfiguration<S>> {
    const { previous } = this;
    const touched = touchedBy(this.change, this.engine, this.staysOutside, this.again);
    const compiled =
      previous === undefined || touched.isEverything ? this.#everything(touched.engine) : this.#parts(previous, touched.engine);
    this.errors.throwIfAny();
    return compiled;
  }

  /**
   * @param block scope of the engine's block that the server is in
   * @param old what the same directive was before
   * @param touched undefined: nothing is known of what changed in it
   * @returns `old` if nothing changed
   */
  protected abstract server(directive: Directive, block: ScopeNode, old: S | undefined, touched: TouchedBlock | undefined): S;

  /** Checks a block of the engine that has no server. */
  protected abstract checkAlone(block: ScopeNode): void;

  /** A server is not in the configuration any more. */
  protected retire({ directive, holdings }: S): void {
    this.users.replace(directive.id, holdings, undefined);
  }

  protected continued(node: ScopeNode, old: ScopeNode | undefined): ScopeNode {
    return node.continuing(old, this.staysOutside);
  }

  #everything({ inside }: TouchedBlock): CompiledServers<S, EngineConfiguration<S>> {
    const { engine, previous } = this;
    const { root } = this.change.after;
    const main = this.continued(new ScopeNode(engine, 'main', undefined, root, undefined), previous?.main);
    const blocks = new Map<number, ScopeNode>();
    const all: S[] = [];
    for (const block of root.named(engine)) {
      const node = this.continued(new ScopeNode(engine, engine, block, block.block, main.outer), previous?.blocks.get(block.id));
      blocks.set(block.id, node);
      const directives = [...(block.block?.named('server') ?? [])];
      if (directives.length === 0) this.checkAlone(node);
      for (const directive of directives) {
        const old = previous?.servers.get(directive.id);
        const server = this.errors.attempt(() => this.server(directive, node, old, inside.get(directive.id)));
        if (server !== undefined) all.push(server);
      }
    }
    const servers = IdMap.empty<S>().edit();
    for (const server of all) servers.set(server.directive.id, server);
    for (const old of previous?.servers.values() ?? []) if (servers.get(old.directive.id) === undefined) this.retire(old);
    const configuration = { main, blocks, servers: servers.commit(), users: this.users.applyTo(previous?.users) };
    return { configuration, all, changes: [], retired: this.users.retired };
  }

  #parts(previous: EngineConfiguration<S>, touched: TouchedBlock): CompiledServers<S, EngineConfiguration<S>> {
    const servers = previous.servers.edit();
    const changes: ServerChange<S>[] = [];
    for (const [id, inside] of touched.inside) {
      const change = this.errors.attempt(() => this.#changedServer(id, inside, previous));
      if (change === undefined) continue;
      changes.push(change);
      keep(servers, id, change.after);
    }
    const configuration = { ...previous, servers: servers.commit(), users: this.users.applyTo(previous.users) };
    const all = touched.reordered ? this.#inOrder(configuration.servers) : undefined;
    return { configuration, all, changes, retired: this.users.retired };
  }

  #inOrder(servers: IdMap<S>): S[] {
    return serverIds(this.change.after, this.engine).flatMap((id) => servers.get(id) ?? []);
  }

  #changedServer(id: number, touched: TouchedBlock, previous: EngineConfiguration<S>): ServerChange<S> | undefined {
    const { after } = this.change;
    const [before, directive, parent] = [previous.servers.get(id), after.byId(id), after.parentOf(id)];
    const block = parent && previous.blocks.get(parent.id);
    if (directive === undefined || block === undefined) {
      if (before !== undefined) this.retire(before);
      return before && { before, after: undefined, isLast: false };
    }
    const server = this.server(directive, block, before, touched);
    return server === before ? undefined : { before, after: server, isLast: before === undefined && !touched.isPlaced };
  }
}

function keep<V>(map: IdMapDraft<V>, id: number, value: V | undefined): void {
  if (value === undefined) map.delete(id);
  else map.set(id, value);
}
