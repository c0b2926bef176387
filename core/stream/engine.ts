import type { MetricKinds } from '../contract/metrics.js';
import { Generations } from '../config/generations.js';
import type { ErrorCollector } from '../config/error-collector.js';
import { UnitRecorder, upstreamInput, type Holdings } from '../config/holdings.js';
import type { InputFiles } from '../config/input-files.js';
import type { Change } from '../config/change.js';
import type { StreamModule } from '../contract/manifest.js';
import { SharedResolvers } from '../net/dns/shared-resolvers.js';
import type { ListenerRole } from '../net/listener-set.js';
import { ServerFollower } from '../net/server-follower.js';
import { StreamListener } from './listen/stream-listener.js';
import { UdpStreamListener } from './listen/udp-stream-listener.js';
import { StreamContext, type SharedContext } from './session/context.js';
import { CheckedStreamModule } from './site/checked-module.js';
import { heldBy, type CompiledStream, type StreamConfiguration } from './site/compiler.js';
import { ServerCompiler } from './site/server-compiler.js';
import type { StreamListenGroup, StreamServer } from './site/server.js';
import type { StreamRelays } from './upstream/relay-route.js';

type AnyListener = StreamListener | UdpStreamListener;

/** The stream engine of one thread: follows the `stream` block of the tree. */
export class StreamEngine extends ServerFollower<StreamServer, AnyListener, StreamConfiguration, ServerCompiler> {
  readonly #context: StreamContext;
  readonly #recorder: UnitRecorder;
  readonly #metrics: Pick<MetricKinds, 'counter'>;
  /** Certificates: the master's are those of its workers. */
  readonly #checks: boolean;

  constructor(
    private readonly relays: StreamRelays,
    shared: SharedContext,
    files: InputFiles,
    options: ListenerRole & { readonly metrics: Pick<MetricKinds, 'counter'> },
  ) {
    const recorder = new UnitRecorder(files, shared.log, options.metrics);
    const generations = new Generations();
    super({ engine: 'stream', recorder, generations, files, options });
    this.#context = new StreamContext(shared, generations);
    this.#recorder = recorder;
    this.#metrics = options.metrics;
    this.#checks = options.role !== 'worker';
    shared.listeners.add(this.listeners);
    relays.targets.onUse = (name) => recorder.use(upstreamInput(name));
  }

  protected makeCompiler(modules: Change['modules']): ServerCompiler {
    const checked = Array.from(modules)
      .filter(({ declaration }) => declaration.kind === 'stream')
      // The kind of a module says which hooks it has.
      .map(
        ({ declaration, hooks, file, resourceLimits }) =>
          new CheckedStreamModule({ declaration, hooks: hooks as unknown as StreamModule, file, resourceLimits }, this.#context.log),
      );
    const { dialer, log } = this.#context;
    const resolvers = new SharedResolvers(dialer, log, this.#metrics);
    return new ServerCompiler(checked, modules.streamArgs, this.#recorder, resolvers, this.#checks);
  }

  protected compile(
    compiler: ServerCompiler,
    change: Change,
    previous: StreamConfiguration | undefined,
    again: ReadonlySet<number>,
  ): CompiledStream {
    return compiler.run(change, previous, again);
  }

  protected settle(errors: ErrorCollector): Promise<void> {
    return this.relays.targets.settle(errors);
  }

  protected isChanging(upstream: string): boolean {
    return this.relays.targets.isChanging(upstream);
  }

  protected makeListener({ options, names }: StreamListenGroup, { variables }: Change['modules']): AnyListener {
    const Kind = options.udp ? UdpStreamListener : StreamListener;
    return new Kind(options, this.#context, variables.stream, names);
  }

  protected renew(listener: AnyListener, { options, names }: StreamListenGroup, { variables }: Change['modules']): void {
    listener.use(options, names, variables.stream);
  }

  protected held(configuration: StreamConfiguration | undefined): Iterable<Holdings> {
    return heldBy(configuration);
  }

  protected check(): () => void {
    return () => undefined;
  }
}
