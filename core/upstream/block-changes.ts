import { ConfReader } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { LayeredMap } from '../config/layered-map.js';
import type { Change, Prepared } from '../config/change.js';
import type { Directive } from '../contract/tree.js';
import { upstreamBlockDirectives, type UpstreamConf } from '../toolkit/upstream.js';
import { prepareAll } from './prepare-all.js';
import { assertServers } from './assert-servers.js';
import { assertSupported, checkServers, prepareServers } from './server-changes.js';
import type { LineContext } from './server-line.js';
import type { ChosenHealth } from './member-checks.js';
import { isSameMethod, type Methods } from './methods.js';
import { keepaliveOf, UpstreamBlock, type BlockOptions } from './upstream-block.js';
import type { PreparedMethod } from './upstream-updates.js';
import { upstreamKey } from './upstream-key.js';
import type { ZoneChoice, ZonePlan } from './zone-plan.js';

const READER = new ConfReader(upstreamBlockDirectives);

/** The current configuration in a thread. */
export interface BlocksInForce {
  readonly blocks: Map<number, UpstreamBlock>;
  readonly names: LayeredMap<string, UpstreamBlock>;
  readonly zones: ZonePlan;
}

/** One change of whole `upstream` blocks: they come, go, move to another zone, or have other settings. Costs what these blocks are. */
export class UpstreamBlockChanges {
  /** Zones as they will be. */
  readonly zones: ZonePlan;
  /** By name: added blocks, and undefined for removed ones. */
  readonly #names = new Map<string, UpstreamBlock | undefined>();
  /** Removed blocks. */
  readonly #leaving: UpstreamBlock[] = [];
  /** After the commit: those of them that leave something behind in a zone of others. */
  retired: readonly UpstreamBlock[] = [];

  /** @param touched ids of the blocks that it is about */
  constructor(
    private readonly inForce: BlocksInForce,
    private readonly touched: ReadonlySet<number>,
    private readonly change: Change,
    private readonly context: LineContext,
    private readonly methods: Methods,
    private readonly options: BlockOptions,
  ) {
    this.zones = inForce.zones.after(touched, change.after, context.args);
  }

  /** Names as they will be, once it is prepared. */
  get names(): LayeredMap<string, UpstreamBlock> {
    return this.inForce.names.with(this.#names);
  }

  /** @throws ConfigErrors */
  async prepare(): Promise<Prepared> {
    const { touched, inForce } = this;
    const { after } = this.change;
    const sharing = Array.from(this.zones.moved(inForce.zones, touched), (id) => inForce.blocks.get(id) ?? []).flat();
    const moved = sharing.filter((block) => this.#moves(block));
    const directives = [...touched].map((id) => after.byId(id) ?? id).concat(moved.map((block) => block.directive));
    // Names are free for others before anybody takes one.
    const gone = directives.filter((directive) => typeof directive === 'number').flatMap((id) => inForce.blocks.get(id) ?? []);
    for (const block of gone) this.#retire(block);
    const present = directives.filter((directive) => typeof directive !== 'number');
    const prepared = await prepareAll(present, (directive) => this.#prepareBlock(directive));
    return {
      commit: () => {
        for (const block of gone) inForce.blocks.delete(block.directive.id);
        this.retired = this.#leaving.filter((block) => block.retire());
        prepared.commit();
      },
      abort: () => prepared.abort(),
    };
  }

  /** Another upstream says now that their common zone is larger or smaller. */
  #moves(block: UpstreamBlock): boolean {
    const directive = this.change.after.byId(block.directive.id);
    return directive !== undefined && !block.livesIn(this.zones.of(directive));
  }

  #retire(block: UpstreamBlock): void {
    this.#leaving.push(block);
    this.#names.set(upstreamKey(block.name), undefined);
  }

  #isTaken(key: string): boolean {
    return (this.#names.has(key) ? this.#names.get(key) : this.inForce.names.get(key)) !== undefined;
  }

  async #prepareBlock(directive: Directive): Promise<Prepared> {
    const choice = await this.#choiceOf(directive);
    const name = directive.args[0]?.text ?? '';
    const conf = READER.read({ context: this.options.engine.context, block: directive.block }, undefined, this.context.args);
    const health = this.methods.health.of(directive);
    const known = this.inForce.blocks.get(directive.id);
    if (known !== undefined && known.name === name && known.livesIn(choice)) return this.#prepareKnown(known, directive, conf, health);
    if (known !== undefined) this.#retire(known);
    if (this.#isTaken(upstreamKey(name))) throw errorAt(directive, `duplicate upstream "${name}"`, directive.args[0]);
    return this.#prepareNew(directive, conf, choice, health);
  }

  /** The zone of a block. @throws ConfigErrors if it, or the block as a whole, is wrong: with what is wrong with the block's lines */
  async #choiceOf(directive: Directive): Promise<ZoneChoice | undefined> {
    const errors = new ErrorCollector();
    const choice = errors.attempt(() => {
      const zone = this.zones.of(directive);
      if (zone === undefined) assertServers(directive);
      return zone;
    });
    if (!errors.isEmpty) await checkServers(directive.block!.named('server'), this.context, errors);
    errors.throwIfAny();
    return choice;
  }

  async #prepareKnown(block: UpstreamBlock, directive: Directive, conf: UpstreamConf, health: ChosenHealth | undefined): Promise<Prepared> {
    const lines = new Set(block.servers.keys());
    for (const { id } of directive.block!.named('server')) {
      const line = this.change.after.byId(id);
      // A line that is the same object says the same.
      if (line !== undefined && block.servers.get(id)?.directive === line) lines.delete(id);
      else lines.add(id);
    }
    this.#assertSources(block, directive);
    const method = this.#prepareMethod(block, directive);
    await method?.ready;
    const queue = block.prepareQueue(conf);
    const prepared = await prepareServers(block, lines, this.change.after, this.context, true);
    return {
      commit: () => {
        method?.commit();
        queue.commit();
        prepared.commit();
        // Last: members that come with this change are there for a checker that is new.
        block.upstream.checks?.configure(health);
        block.directive = directive;
        block.upstream.keepalive.configure(keepaliveOf(conf));
      },
      abort: () => {
        prepared.abort();
        method?.abort();
      },
    };
  }

  /** Other lines of the block may say how sources are asked. @throws ConfigError */
  #assertSources({ names, upstream }: UpstreamBlock, directive: Directive): void {
    if (!upstream.owned) return;
    for (const { query, directive: line } of names.values())
      if (query?.kind === 'source') this.context.sources.of(directive, query.name, line);
  }

  /** Undefined: the method stays the same. @throws ConfigError */
  #prepareMethod(block: UpstreamBlock, directive: Directive): PreparedMethod | undefined {
    if (isSameMethod(block.method, this.methods.linesOf(directive))) return undefined;
    const method = this.methods.of(directive, this.change.warn);
    for (const line of directive.block!.named('server')) assertSupported(line, method);
    return block.prepareMethod(method);
  }

  /** The upstream cannot be found before the change is active, so its members may be active at once. */
  async #prepareNew(
    directive: Directive,
    conf: UpstreamConf,
    choice: ZoneChoice | undefined,
    health: ChosenHealth | undefined,
  ): Promise<Prepared> {
    const block = UpstreamBlock.create(directive, conf, choice, directive.block!.size, this.options);
    try {
      this.#prepareMethod(block, directive)?.commit();
      block.prepareQueue(conf).commit();
      block.upstream.checks?.configure(health);
      const lines = [...directive.block!.named('server')].map(({ id }) => id);
      (await prepareServers(block, lines, this.change.after, this.context, false)).commit();
    } catch (error) {
      block.discard();
      throw error;
    }
    this.#names.set(upstreamKey(block.name), block);
    return {
      commit: () => {
        this.inForce.blocks.set(directive.id, block);
        block.upstream.checks?.start();
      },
      abort: () => block.discard(),
    };
  }
}
