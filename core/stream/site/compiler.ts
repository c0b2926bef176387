import { ErrorCollector } from '../../config/error-collector.js';
import { IdMap } from '../../config/id-map.js';
import { InputUsersDraft, type InputUsers } from '../../config/input-users.js';
import type { Holdings } from '../../config/holdings.js';
import { ScopeNode, type StaysOutside } from '../../config/scope.js';
import { serverIds } from '../../config/server-places.js';
import { touchedBy, type TouchedBlock, type TreeChange } from '../../config/touched-blocks.js';
import type { Directive } from '../../contract/tree.js';
import type { ServerChange } from '../../net/listen-groups.js';
import type { CompiledServers } from '../../net/server-follower.js';
import type { StreamServer } from './server.js';
import type { ServerCompiler } from './server-compiler.js';

/** The compiled `stream` block. It never changes: a change makes another one that shares unchanged parts. */
export interface StreamConfiguration {
  readonly main: ScopeNode;
  /** By the id of the `stream` directive. */
  readonly stream: ReadonlyMap<number, ScopeNode>;
  /** By the id of the `server` directive. */
  readonly servers: IdMap<StreamServer>;
  /** Servers by what they were made of besides their blocks. */
  readonly users: InputUsers;
}

export type CompiledStream = CompiledServers<StreamServer, StreamConfiguration>;

/** One run of the compiler. */
export class StreamCompilation {
  readonly #errors = new ErrorCollector();
  readonly #users = new InputUsersDraft();

  constructor(
    private readonly compiler: ServerCompiler,
    private readonly staysOutside: StaysOutside,
    private readonly change: TreeChange,
    private readonly previous: StreamConfiguration | undefined,
    /** Servers to compile although their blocks are the same. */
    private readonly again: ReadonlySet<number>,
  ) {}

  /** @throws ConfigErrors with everything that is wrong */
  run(): CompiledStream {
    const { previous } = this;
    const { isEverything, engine } = touchedBy(this.change, 'stream', this.staysOutside, this.again);
    const compiled = previous === undefined || isEverything ? this.#everything() : this.#parts(previous, engine);
    this.#errors.throwIfAny();
    return compiled;
  }

  #everything(): CompiledStream {
    const { root } = this.change.after;
    const { previous } = this;
    const main = this.#node(new ScopeNode('stream', 'main', undefined, root, undefined), previous?.main);
    const stream = new Map<number, ScopeNode>();
    const all: StreamServer[] = [];
    for (const directive of root.named('stream')) {
      const node = this.#node(
        new ScopeNode('stream', 'stream', directive, directive.block, main.outer),
        previous?.stream.get(directive.id),
      );
      stream.set(directive.id, node);
      for (const line of directive.block?.named('server') ?? []) {
        const server = this.#errors.attempt(() => this.#server(line, node, previous?.servers.get(line.id)));
        if (server !== undefined) all.push(server);
      }
    }
    const servers = IdMap.empty<StreamServer>().edit();
    for (const server of all) servers.set(server.directive.id, server);
    for (const old of previous?.servers.values() ?? []) if (servers.get(old.directive.id) === undefined) this.#retire(old);
    const configuration = { main, stream, servers: servers.commit(), users: this.#users.applyTo(previous?.users) };
    return { configuration, all, changes: [], retired: this.#users.retired };
  }

  #parts(previous: StreamConfiguration, { inside, reordered }: TouchedBlock): CompiledStream {
    const servers = previous.servers.edit();
    const changes: ServerChange<StreamServer>[] = [];
    for (const [id, { isPlaced }] of inside) {
      const change = this.#errors.attempt(() => this.#changedServer(id, isPlaced, previous));
      if (change === undefined) continue;
      changes.push(change);
      if (change.after === undefined) servers.delete(id);
      else servers.set(id, change.after);
    }
    const configuration = { ...previous, servers: servers.commit(), users: this.#users.applyTo(previous.users) };
    const all = reordered ? serverIds(this.change.after, 'stream').flatMap((id) => configuration.servers.get(id) ?? []) : undefined;
    return { configuration, all, changes, retired: this.#users.retired };
  }

  #changedServer(id: number, isPlaced: boolean, previous: StreamConfiguration): ServerChange<StreamServer> | undefined {
    const { after } = this.change;
    const [before, directive, parent] = [previous.servers.get(id), after.byId(id), after.parentOf(id)];
    const stream = parent && previous.stream.get(parent.id);
    if (directive === undefined || stream === undefined) {
      if (before !== undefined) this.#retire(before);
      return before && { before, after: undefined, isLast: false };
    }
    const server = this.#server(directive, stream, before);
    return server === before ? undefined : { before, after: server, isLast: before === undefined && !isPlaced };
  }

  #server(directive: Directive, stream: ScopeNode, old: StreamServer | undefined): StreamServer {
    const node = this.#node(new ScopeNode('server', 'stream server', directive, directive.block, stream.outer), old?.node);
    if (old !== undefined && old.node === node && !this.again.has(directive.id)) return old;
    const server = this.compiler.compile(directive, node, this.#errors);
    this.#users.replace(directive.id, old?.holdings, server.holdings);
    return server;
  }

  #node(node: ScopeNode, old: ScopeNode | undefined): ScopeNode {
    return node.continuing(old, this.staysOutside);
  }

  #retire({ directive, holdings }: StreamServer): void {
    this.#users.replace(directive.id, holdings, undefined);
  }
}

/** Holdings of all servers. */
export function* heldBy(configuration: StreamConfiguration | undefined): Generator<Holdings> {
  for (const { holdings } of configuration?.servers.values() ?? []) yield holdings;
}
