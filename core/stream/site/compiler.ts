import type { Holdings } from '../../config/holdings.js';
import { ScopeNode, type StaysOutside } from '../../config/scope.js';
import type { TreeChange } from '../../config/touched-blocks.js';
import type { Directive } from '../../contract/tree.js';
import { type EngineConfiguration, ServerCompilation } from '../../net/server-compilation.js';
import type { CompiledServers } from '../../net/server-follower.js';
import type { StreamServer } from './server.js';
import type { ServerCompiler } from './server-compiler.js';

/** The compiled `stream` block. */
export type StreamConfiguration = EngineConfiguration<StreamServer>;

export type CompiledStream = CompiledServers<StreamServer, StreamConfiguration>;

/** One run of the compiler. */
export class StreamCompilation extends ServerCompilation<StreamServer> {
  /** @param again servers to compile although their blocks are the same */
  constructor(
    private readonly compiler: ServerCompiler,
    staysOutside: StaysOutside,
    change: TreeChange,
    previous: StreamConfiguration | undefined,
    again: ReadonlySet<number>,
  ) {
    super('stream', staysOutside, change, previous, again);
  }

  protected override server(directive: Directive, stream: ScopeNode, old: StreamServer | undefined): StreamServer {
    const node = this.continued(new ScopeNode('server', 'stream server', directive, directive.block, stream.outer), old?.node);
    if (old !== undefined && old.node === node && !this.again.has(directive.id)) return old;
    const server = this.compiler.compile(directive, node, this.errors);
    this.users.replace(directive.id, old?.holdings, server.holdings);
    return server;
  }

  /** Settings of `stream` are checked with the first server. */
  protected override checkAlone(): void {}
}

/** Holdings of all servers. */
export function* heldBy(configuration: StreamConfiguration | undefined): Generator<Holdings> {
  for (const { holdings } of configuration?.servers.values() ?? []) yield holdings;
}
