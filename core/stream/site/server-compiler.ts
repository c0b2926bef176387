import type { ErrorCollector } from '../../config/error-collector.js';
import { errorAt } from '../../config/errors.js';
import type { UnitRecorder } from '../../config/holdings.js';
import { ScopedReader, type ScopeNode, type StaysOutside } from '../../config/scope.js';
import { staysOutsideOf } from '../../config/stays-outside.js';
import type { TreeChange } from '../../config/touched-blocks.js';
import type { ArgContext } from '../../contract/spec.js';
import type { StreamHandler, StreamSession } from '../../contract/stream.js';
import type { Directive } from '../../contract/tree.js';
import type { SharedResolvers } from '../../net/dns/shared-resolvers.js';
import { serverNames } from '../../net/server-names.js';
import type { TlsSettings } from '../../contract/manifest.js';
import { unusableTls } from '../../net/unusable-tls.js';
import { serverTls, type ServerTls } from '../../net/server-tls.js';
import { SharedByContent } from '../../net/shared-by-content.js';
import type { CheckedStreamModule } from './checked-module.js';
import { StreamCompilation, type CompiledStream, type StreamConfiguration } from './compiler.js';
import { streamDirectives, type StreamCoreConf } from './core-module.js';
import { SessionHandlers } from './session-handlers.js';
import { streamListens } from './stream-listens.js';
import type { StreamServer } from './server.js';

type StreamReader = ScopedReader<'stream' | 'server', StreamSession>;

interface ModuleReader {
  readonly module: CheckedStreamModule;
  readonly reader: StreamReader;
}

const NO_CONTENT: StreamHandler = () => 500;

/** Compiles the servers of `stream`, for one set of modules. */
export class ServerCompiler {
  readonly #modules: readonly ModuleReader[];
  readonly #core: StreamReader;
  readonly #staysOutside: StaysOutside;
  readonly #contexts: SharedByContent<TlsSettings, ServerTls>;

  constructor(
    modules: readonly CheckedStreamModule[],
    private readonly args: ArgContext<StreamSession>,
    private readonly recorder: UnitRecorder,
    private readonly resolvers: SharedResolvers,
    /** False: another thread has checked certificates. */
    checks: boolean,
  ) {
    this.#contexts = new SharedByContent((settings) => serverTls(settings, checks));
    this.#modules = modules.map((module, at) => ({
      module,
      reader: new ScopedReader(at + 1, module.declaration.manifest.directives ?? {}, args, recorder, module.resourceLimits),
    }));
    this.#core = new ScopedReader(0, streamDirectives, args, recorder);
    this.#staysOutside = staysOutsideOf([streamDirectives, ...modules.map(({ declaration }) => declaration.manifest.directives ?? {})]);
  }

  /**
   * @param again servers to compile although their blocks are the same
   * @throws ConfigErrors with everything that is wrong
   */
  run(change: TreeChange, previous: StreamConfiguration | undefined, again: ReadonlySet<number>): CompiledStream {
    return new StreamCompilation(this, this.#staysOutside, change, previous, again).run();
  }

  compile(directive: Directive, node: ScopeNode, errors: ErrorCollector): StreamServer {
    const conf = this.#core.conf(node) as StreamCoreConf;
    const lines = (name: string): readonly Directive[] => [...(directive.block?.named(name) ?? [])];
    const [server, holdings] = this.recorder.record(() => {
      const handlers = new SessionHandlers();
      const before = errors.size;
      for (const [place, { module, reader }] of this.#modules.entries()) {
        const returned = errors.attempt(() => module.compile(reader.view(node)));
        if (returned !== undefined) errors.attempt(() => handlers.add(module.declaration, returned, place, directive));
      }
      const listens = errors.attempt(() => streamListens(lines('listen'), (text) => this.args.path(text)));
      if (listens?.length === 0) errors.add(errorAt(directive, 'no "listen" is defined for server'));
      if (handlers.content === undefined && errors.size === before)
        errors.add(errorAt(directive, 'no handler for server', undefined, 'add proxy_pass, return or pass'));
      return {
        ...serverNames(lines('server_name')),
        listens: listens ?? [],
        steps: handlers.steps,
        content: handlers.content ?? NO_CONTENT,
        logHandlers: handlers.logHandlers,
        attemptHandlers: handlers.attemptHandlers,
        modules: handlers.modules,
        tls: errors.attempt(() => this.#tls(node)),
      };
    });
    const settings = {
      prereadBufferSize: conf.preread_buffer_size,
      prereadTimeout: conf.preread_timeout,
      handlerTimeout: conf.handler_timeout,
      proxyProtocolTimeout: conf.proxy_protocol_timeout,
      resolver: errors.attempt(() => this.resolvers.of(conf, node.lineInForce('resolver'))),
    };
    return { directive, node, scope: this.#core.view(node), settings, holdings, ...server };
  }

  #tls(node: ScopeNode): ServerTls | undefined {
    for (const { module, reader } of this.#modules) {
      const settings = module.compileTls(reader.view(node));
      if (settings === undefined) continue;
      try {
        return this.#contexts.of({ ...settings, alpn: settings.alpn ?? [] });
      } catch (error) {
        throw unusableTls(settings, node, error as Error);
      }
    }
    return undefined;
  }
}
