import { errorAt } from '../../config/errors.js';
import type { ErrorCollector } from '../../config/error-collector.js';
import type { HttpHandlers, HttpRequest, HttpScopeKind } from '../../contract/http.js';
import type { ResourceLimits } from '../../config/holdings.js';
import type { HttpModule, ModuleDeclaration } from '../../contract/manifest.js';
import { methodSet } from '../../contract/method.js';
import type { ArgContext } from '../../contract/spec.js';
import { hasFittingLevels, LEVELS_HINT } from '../../toolkit/temporary-folder.js';
import type { Block, Directive } from '../../contract/tree.js';
import type { SharedResolvers } from '../../net/dns/shared-resolvers.js';
import { SharedByContent } from '../../net/shared-by-content.js';
import type { ListenOptions } from '../../net/listen-options.js';
import { ContentTypeTables, type ContentTypes } from './content-types.js';
import { coreDirectives, type CoreConf } from './core-module.js';
import { LocationHandlers } from './location-handlers.js';
import { LocationTable } from './location-table.js';
import type { Location, LocationMatch, LocationSettings } from './location.js';
import { AffectedModules, type EarlierResults } from './affected-modules.js';
import { directivePlaces, type DirectivePlaces } from './directive-places.js';
import { InheritedResults } from './inherited-results.js';
import { BlockLooks, ScopedReader, type ScopeNode } from '../../config/scope.js';
import { checkErrorPage, httpListens, locationSettings, serverSettings, type Product } from './settings.js';

import { folderInput, type Holdings, type UnitRecorder } from '../../config/holdings.js';
import { serverNames } from '../../net/server-names.js';
import type { TlsSettings } from '../../contract/manifest.js';
import { serverTls, type ServerTls } from '../../net/server-tls.js';
import { unusableTls } from '../../net/unusable-tls.js';
import type { VirtualServer } from './virtual-server.js';

/** A loaded module as the compiler needs it. */
export interface CompiledModule {
  readonly declaration: ModuleDeclaration;
  readonly instance: HttpModule;
  readonly resourceLimits?: ResourceLimits | undefined;
}

type HttpReader = ScopedReader<HttpScopeKind, HttpRequest>;

interface ModuleReader extends CompiledModule {
  readonly reader: HttpReader;
}

type Step = 'compile' | 'compileServer';

/** A server or location before what is in it is known. */
type Without<T, K extends keyof T> = Omit<T, K>;

/** Compiles single servers and locations, without the locations in them. One for each set of modules. */
export class UnitCompiler {
  readonly affected: AffectedModules;
  readonly #modules: readonly ModuleReader[];
  readonly #core: HttpReader;
  readonly #contentTypes = new ContentTypeTables();
  readonly #contexts: SharedByContent<TlsSettings, ServerTls>;
  /** Scopes without settings of their own share one object. */
  readonly #settings = new WeakMap<CoreConf, LocationSettings[]>();
  readonly #places: DirectivePlaces;
  /** Of this run of the compiler, by the block around. */
  #inherited = new Map<ScopeNode | undefined, Map<string, InheritedResults>>();
  #temporaryFolders = new Set<string>();

  constructor(
    modules: Iterable<CompiledModule>,
    private readonly args: ArgContext,
    private readonly product: Product,
    private readonly recorder: UnitRecorder,
    private readonly resolvers: SharedResolvers,
    /** True if explanations are asked for in this thread. */
    private readonly explains: boolean,
  ) {
    this.#contexts = new SharedByContent((settings) => serverTls(settings, explains));
    this.#modules = Array.from(modules, ({ declaration, instance, resourceLimits }, at) => ({
      declaration,
      instance,
      reader: new ScopedReader(at + 1, declaration.manifest.directives ?? {}, args, recorder, resourceLimits),
    }));
    this.#core = new ScopedReader(0, coreDirectives, args, recorder);
    this.#places = directivePlaces(this.#modules.map(({ declaration }) => declaration.manifest.directives ?? {}));
    this.affected = new AffectedModules(this.#modules, this.#places);
  }

  /** A run of the compiler is over. In the next one modules may have other states. */
  end(): void {
    this.#inherited = new Map();
  }

  server(directive: Directive, node: ScopeNode, errors: ErrorCollector): Without<VirtualServer, 'locations'> {
    const { block } = directive;
    const [server, holdings] = this.recorder.record(() => {
      const handlers = this.#handlers(node, 'compileServer', errors);
      return {
        ...serverNames([...(block?.named('server_name') ?? [])]),
        listens: errors.attempt(() => this.#listens(block)) ?? [],
        settings: serverSettings(this.conf(node)),
        steps: handlers.steps('post_read', 'server_rewrite'),
        modules: handlers.modules,
        explainers: handlers.explainers,
        tls: errors.attempt(() => this.#tls(node)),
      };
    });
    const fallback = { ...this.location({ kind: 'prefix', name: '' }, node, errors), nested: LocationTable.empty };
    return { directive, node, scope: this.#core.view(node), ...server, fallback, holdings: together(holdings, fallback.holdings) };
  }

  /** Holdings of a server with nothing of its own. */
  check(node: ScopeNode, errors: ErrorCollector): Holdings {
    const [, holdings] = this.recorder.record(() => this.#handlers(node, 'compileServer', errors));
    return together(holdings, this.location({ kind: 'prefix', name: '' }, node, errors).holdings);
  }

  location(match: LocationMatch, node: ScopeNode, errors: ErrorCollector, earlier?: EarlierResults): Without<Location, 'nested'> {
    const [location, holdings] = this.recorder.record(() => {
      const whole = this.#part(match, node, errors, undefined, earlier);
      const part = (directive: Directive): Location => this.#partOf(whole, directive, errors);
      const isLocation = node.kind === 'location';
      const branches = isLocation ? Array.from(node.block?.named('if') ?? [], (branch) => [branch.id, part(branch)] as const) : [];
      const [limit] = isLocation ? (node.block?.named('limit_except') ?? []) : [];
      return {
        ...whole,
        branches: branches.length > 0 ? new Map(branches) : undefined,
        limitExcept: limit && { methods: methodSet(this.conf(node).limit_except?.methods ?? []), location: part(limit) },
      };
    });
    return { ...location, holdings: earlier === undefined ? holdings : withKept(holdings, earlier) };
  }

  /** Of the servers and locations compiled since the last call. */
  takeTemporaryFolders(): ReadonlySet<string> {
    const folders = this.#temporaryFolders;
    this.#temporaryFolders = new Set();
    return folders;
  }

  conf(node: ScopeNode): CoreConf {
    return this.#core.conf(node) as CoreConf;
  }

  /** A block of `if` or `limit_except`: without content of its own it has that of the location. */
  #partOf(whole: Without<Location, 'nested' | 'holdings'>, directive: Directive, errors: ErrorCollector): Location {
    const part = this.#part(whole.match, whole.node.inner(directive), errors, whole);
    return { ...part, holdings: { inputs: [], resources: [] }, nested: LocationTable.empty };
  }

  #part(
    match: LocationMatch,
    node: ScopeNode,
    errors: ErrorCollector,
    whole: Without<Location, 'nested' | 'holdings'> | undefined,
    earlier?: EarlierResults,
  ): Without<Location, 'nested' | 'holdings'> {
    for (const line of node.linesInForce('error_page')) errors.attempt(() => checkErrorPage(line));
    errors.attempt(() => this.#assertLevels(node));
    const handlers = this.#handlers(node, 'compile', errors, earlier);
    const types = this.#contentTypes.tableOf(node.linesInForce('types'));
    const autoRedirect = handlers.autoRedirect && match.name.endsWith('/') && match.kind !== 'regex';
    const settings = this.#settingsOf(node, types, autoRedirect);
    const { folder } = settings.clientBodyStore.file.path;
    this.#temporaryFolders.add(folder);
    // A location without a line uses that of its server: ten thousand need not say so each.
    if (node.kind === 'server' || node.lineInForce('client_body_temp_path') !== undefined) this.recorder.use(folderInput(folder));
    const limitsBody = handlers.limitsBody || (handlers.content === undefined && whole?.settings.clientMaxBodySize === 0);
    return {
      match,
      directive: node.directive,
      node,
      scope: this.#core.view(node),
      settings: limitsBody ? { ...settings, clientMaxBodySize: 0 } : settings,
      steps: handlers.steps('rewrite', 'precontent'),
      entry: whole === undefined ? 0 : this.#entryOf(handlers, node),
      content: handlers.content ?? whole?.content,
      defaultContent: handlers.defaultContent ?? whole?.defaultContent,
      connect: match.kind === 'named' ? undefined : (handlers.connect ?? whole?.connect),
      error: handlers.error ?? whole?.error,
      headerFilters: handlers.headerFilters,
      memberHandlers: handlers.memberHandlers,
      replacedHandlers: handlers.replacedHandlers,
      callHandlers: handlers.callHandlers,
      callFailureHandlers: handlers.callFailureHandlers,
      attemptHandlers: handlers.attemptHandlers,
      attemptEndHandlers: handlers.attemptEndHandlers,
      logHandlers: handlers.logHandlers,
      made: handlers.made,
      modules: whole === undefined ? handlers.modules : handlers.modules.within(whole.modules),
      explainers: whole === undefined ? handlers.explainers : new Map([...whole.explainers, ...handlers.explainers]),
      branches: undefined,
      limitExcept: undefined,
    };
  }

  #assertLevels(node: ScopeNode): void {
    if (hasFittingLevels(this.conf(node).client_body_temp_path)) return;
    const line = node.lineInForce('client_body_temp_path');
    if (line !== undefined) throw errorAt(line, `"${line.name}" directive invalid value`, line.args.at(-1), LEVELS_HINT);
  }

  #settingsOf(node: ScopeNode, types: ContentTypes, autoRedirect: boolean): LocationSettings {
    const conf = this.conf(node);
    const known = this.#settings.get(conf) ?? [];
    const same = known.find((settings) => settings.contentTypes === types && settings.autoRedirect === autoRedirect);
    if (same !== undefined) return same;
    const resolver = this.resolvers.of(conf, node.lineInForce('resolver'));
    const settings = locationSettings(conf, this.product, types, resolver, autoRedirect);
    this.#settings.set(conf, [...known, settings]);
    return settings;
  }

  #listens(block: Block | undefined): readonly ListenOptions[] {
    return httpListens([...(block?.named('listen') ?? [])], (text) => this.args.path(text));
  }

  #handlers(node: ScopeNode, step: Step, errors: ErrorCollector, earlier?: EarlierResults): LocationHandlers {
    const set = new LocationHandlers(this.explains);
    const inherited = this.#inheritedIn(node, step);
    const concerned = inherited.concerned(node.block);
    for (const [place, module] of this.#modules.entries()) {
      if (module.instance[step] === undefined) continue;
      this.recorder.owner = place;
      if (earlier?.affected.has(place) === false) {
        const handlers = earlier.location.made.find((made) => made.place === place)?.handlers;
        if (handlers !== undefined) set.add(module.declaration, handlers, place, node.directive);
      } else if (concerned.has(place)) {
        const handlers = errors.attempt(() => module.instance[step]?.(module.reader.view(node)));
        if (handlers !== undefined) set.add(module.declaration, handlers, place, node.directive);
      } else if (!inherited.has(place)) {
        const handlers = errors.attempt(() => this.#ofInherited(module, place, node, step, inherited));
        if (handlers !== undefined) set.add(module.declaration, handlers, place, node.directive);
      }
    }
    return set;
  }

  /** Handlers that a module makes for a block in which it has no directive. */
  #ofInherited(
    { instance, reader }: ModuleReader,
    place: number,
    node: ScopeNode,
    step: Step,
    inherited: InheritedResults,
  ): HttpHandlers | undefined {
    const { notes } = this.recorder;
    const looks = new BlockLooks(node);
    reader.looks = looks;
    try {
      const handlers = instance[step]?.(reader.view(node));
      if (handlers === undefined && this.recorder.notes === notes) inherited.add(place, looks);
      return handlers;
    } finally {
      reader.looks = undefined;
    }
  }

  #inheritedIn({ parent, kind }: ScopeNode, step: Step): InheritedResults {
    const key = `${step} ${kind}`;
    const known = this.#inherited.get(parent) ?? new Map<string, InheritedResults>();
    this.#inherited.set(parent, known);
    const results = known.get(key) ?? new InheritedResults(this.#places);
    known.set(key, results);
    return results;
  }

  /** The first step of an `if` block for a request that its module lets enter it. */
  #entryOf(handlers: LocationHandlers, { directive }: ScopeNode): number {
    const place = this.#modules.findIndex(({ declaration }) => hasDirective(declaration, directive?.name));
    const owner = this.#modules[place];
    return owner === undefined ? 0 : handlers.countBefore('rewrite', owner.declaration, place);
  }

  #tls(node: ScopeNode): ServerTls | undefined {
    for (const { instance, reader } of this.#modules) {
      const settings = instance.compileTls?.(reader.view(node));
      if (settings === undefined) continue;
      try {
        return this.#contexts.of(settings);
      } catch (error) {
        throw unusableTls(settings, node, error as Error);
      }
    }
    return undefined;
  }
}

function hasDirective({ manifest }: ModuleDeclaration, name: string | undefined): boolean {
  return Object.entries(manifest.directives ?? {}).some(([key, spec]) => (spec.name ?? key) === name);
}

/** The holdings of the modules that were called, with those of handlers that stay. */
function withKept(holdings: Holdings, { location, affected }: EarlierResults): Holdings {
  const { inputs, resources } = location.holdings;
  const kept = resources.filter(({ owner }) => owner !== undefined && !affected.has(owner));
  if (inputs.length === 0 && kept.length === 0) return holdings;
  return { inputs: [...new Set([...inputs, ...holdings.inputs])], resources: [...kept, ...holdings.resources] };
}

function together(a: Holdings, b: Holdings): Holdings {
  return { inputs: [...a.inputs, ...b.inputs], resources: [...a.resources, ...b.resources] };
}
