import { Upstreams, type PeerView, type QueueView, type UpstreamView } from '../contract/upstreams.js';
import type { EngineName } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';
import type { StagedChange } from './staged-change.js';
import type { Staging } from './staging.js';

/** The upstreams for the caller: the current ones, or in a transaction the ones changed by its calls. */
export class StagedUpstreams extends Upstreams {
  constructor(
    private readonly inForce: Upstreams,
    /** The traffic engine that they are for. */
    private readonly engine: EngineName,
    private readonly staging: Staging,
  ) {
    super();
  }

  get(name: string): UpstreamView | undefined {
    const change = this.staging.current;
    const known = this.inForce.get(name);
    if (change === undefined) return known;
    const directive = (known && change.tree.byId(known.directive.id)) ?? change.created(this.engine, 'upstream', name);
    return directive && new StagedUpstream(change, directive, known);
  }

  *all(): Generator<UpstreamView> {
    const change = this.staging.current;
    if (change === undefined) yield* this.inForce.all();
    else for (const { block } of change.tree.root.named(this.engine)) yield* this.#allIn(change, block);
  }

  *#allIn(change: StagedChange, block: Block | undefined): Generator<UpstreamView> {
    for (const directive of block?.named('upstream') ?? [])
      yield new StagedUpstream(change, directive, this.inForce.get(directive.args[0]?.text ?? ''));
  }
}

/** Its directives are those of the transaction; the state of its members is that of the current ones. */
class StagedUpstream implements UpstreamView {
  constructor(
    private readonly change: StagedChange,
    readonly directive: Directive,
    private readonly known: UpstreamView | undefined,
  ) {}

  get name(): string {
    return this.directive.args[0]?.text ?? '';
  }

  get zone(): string | undefined {
    const [zone] = this.directive.block?.named('zone') ?? [];
    return zone?.args[0]?.text;
  }

  get keepalive(): number {
    return this.known?.keepalive ?? 0;
  }

  get zombies(): number {
    return this.known?.zombies ?? 0;
  }

  get queue(): QueueView | undefined {
    return this.known?.queue;
  }

  get peers(): Iterable<PeerView> {
    return this.known?.peers ?? [];
  }

  get size(): number {
    return Array.from(this.directive.block?.named('server') ?? []).length;
  }

  peer(id: number): PeerView | undefined {
    return this.known?.peer(id);
  }

  addresses(line: Directive): readonly PeerView[] | undefined {
    return this.known?.addresses(line);
  }

  resetStatistics(): void {
    const { known } = this;
    if (known !== undefined) this.change.followUps.push(() => known.resetStatistics());
  }
}
