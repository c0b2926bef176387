import { isDeepStrictEqual } from 'node:util';
import { errorAt } from '../../config/errors.js';
import { ErrorCollector } from '../../config/error-collector.js';
import { nodeTls } from '../../net/node-tls.js';
import type { HttpHandlers } from '../../module/http.js';
import type { HttpModule, ModuleDeclaration } from '../../module/manifest.js';
import type { ArgContext } from '../../module/spec.js';
import type { Block, Directive } from '../../module/tree.js';
import { ContentTypeTables } from './content-types.js';
import { coreDirectives, type CoreConf } from './core-module.js';
import { HandlerSet } from './handler-set.js';
import type { ListenOptions } from '../../net/listen-options.js';
import { LocationTable } from './location-table.js';
import type { Location, LocationMatch } from './location.js';
import { ScopedReader, ScopeNode } from './scope.js';
import {
  checkErrorPage,
  checkTemporaryPath,
  listenOptions,
  locationMatch,
  locationSettings,
  serverNames,
  serverSettings,
  type Product,
} from './settings.js';
import type { ServerTls, VirtualServer } from './virtual-server.js';

/** A loaded module as the compiler needs it. */
export interface CompiledModule {
  readonly declaration: ModuleDeclaration;
  readonly instance: HttpModule;
}

/** What one `http` block became. Kept until the next one, so that what did not change is taken over. */
export interface HttpConfiguration {
  readonly servers: readonly VirtualServer[];
  readonly scopes: ReadonlyMap<number, ScopeNode>;
  readonly main: ScopeNode;
}

interface ModuleReader extends CompiledModule {
  readonly reader: ScopedReader;
}

/** Turns the `http` block of a tree into servers and locations. What is the same as in `previous` is the same object afterwards. */
export class HttpCompiler {
  readonly #modules: ModuleReader[];
  readonly #core: ScopedReader;
  readonly #contentTypes = new ContentTypeTables();

  constructor(
    modules: Iterable<CompiledModule>,
    private readonly args: ArgContext,
    private readonly product: Product,
  ) {
    this.#modules = Array.from(modules, ({ declaration, instance }) => ({
      declaration,
      instance,
      reader: new ScopedReader(declaration.manifest.directives ?? {}, args),
    }));
    this.#core = new ScopedReader(coreDirectives, args);
  }

  /**
   * @param rereads certificates may have changed where the tree has not
   * @throws ConfigErrors with everything that is wrong.
   */
  compile(root: Block, previous: HttpConfiguration | undefined, rereads: boolean): HttpConfiguration {
    return new Compilation(this.#modules, this.#core, this.#contentTypes, this.args, this.product, previous, rereads).run(root);
  }

  /** The folders that a configuration has for temporary files. */
  temporaryFolders({ scopes }: HttpConfiguration): Set<string> {
    return new Set(Array.from(scopes.values(), (scope) => (this.#core.conf(scope) as CoreConf).client_body_temp_path.path));
  }
}

/** One run of the compiler. */
class Compilation {
  readonly #mistakes = new ErrorCollector();
  readonly #scopes = new Map<number, ScopeNode>();
  /** By the ids of their directives. */
  readonly #oldServers: ReadonlyMap<number, VirtualServer>;

  constructor(
    private readonly modules: readonly ModuleReader[],
    private readonly core: ScopedReader,
    private readonly contentTypes: ContentTypeTables,
    private readonly args: ArgContext,
    private readonly product: Product,
    private readonly previous: HttpConfiguration | undefined,
    private readonly rereads: boolean,
  ) {
    this.#oldServers = new Map(previous?.servers.map((server) => [server.directive.id, server]));
  }

  run(root: Block): HttpConfiguration {
    const main = this.#reuse(new ScopeNode('http', 'main', undefined, root, undefined), this.previous?.main);
    const servers: VirtualServer[] = [];
    for (const http of root.named('http')) {
      const scope = this.#scope('http', 'http', http, main);
      for (const directive of http.block?.named('server') ?? []) {
        const server = this.#mistakes.attempt(() => this.#server(directive, scope));
        if (server !== undefined) servers.push(server);
      }
    }
    this.#mistakes.throwIfAny();
    return { servers, scopes: this.#scopes, main };
  }

  /** A scope whose settings are those of the last time is the very object of the last time, and everything hung on it holds. */
  #scope(kind: ScopeNode['kind'], context: ScopeNode['context'], directive: Directive, parent: ScopeNode): ScopeNode {
    const scope = this.#reuse(new ScopeNode(kind, context, directive, directive.block, parent), this.previous?.scopes.get(directive.id));
    this.#scopes.set(directive.id, scope);
    return scope;
  }

  #reuse(scope: ScopeNode, old: ScopeNode | undefined): ScopeNode {
    return old !== undefined && scope.settlesLike(old) ? old : scope;
  }

  #server(directive: Directive, http: ScopeNode): VirtualServer {
    const scope = this.#scope('server', 'server', directive, http);
    const old = this.#oldServers.get(directive.id);
    if (old?.directive === directive && this.previous?.scopes.get(directive.id) === scope)
      return this.#withFreshTls(this.#keep(old), scope);
    const block = directive.block;
    const conf = this.#conf(scope);
    const handlers = this.#handlers(scope, true);
    return {
      directive,
      scope: this.core.view(scope),
      ...serverNames([...(block?.named('server_name') ?? [])]),
      listens: this.#mistakes.attempt(() => this.#listens(block)) ?? [],
      settings: serverSettings(conf),
      steps: handlers.steps('post_read', 'server_rewrite'),
      modules: handlers.modules,
      locations: this.#locations(directive, scope, old?.locations),
      fallback: this.#location({ kind: 'prefix', name: '' }, scope, new LocationTable([])),
      tls: this.#mistakes.attempt(() => this.#tls(scope)),
    };
  }

  #listens(block: Block | undefined): readonly ListenOptions[] {
    const fallback = process.getuid?.() === 0 ? '80' : '8000';
    return listenOptions([...(block?.named('listen') ?? [])], (text) => this.args.path(text), fallback);
  }

  /** Nothing in the server changed: its scopes are still those of the last run. */
  #keep(server: VirtualServer): VirtualServer {
    const keepIn = (directive: Directive): void => {
      for (const child of directive.block?.named('location') ?? []) {
        const scope = this.previous?.scopes.get(child.id);
        if (scope !== undefined) this.#scopes.set(child.id, scope);
        keepIn(child);
      }
    };
    keepIn(server.directive);
    return server;
  }

  /** A certificate that was renewed under its old name makes another server, with everything else of the old one. */
  #withFreshTls(server: VirtualServer, scope: ScopeNode): VirtualServer {
    if (!this.rereads || server.tls === undefined) return server;
    const tls = this.#tls(scope);
    return isDeepStrictEqual(tls?.settings, server.tls.settings) ? server : { ...server, tls };
  }

  #locations(parent: Directive, scope: ScopeNode, before: LocationTable | undefined): LocationTable {
    const locations: Location[] = [];
    const seen = new Set<string>();
    for (const directive of parent.block?.named('location') ?? []) {
      const location = this.#mistakes.attempt(() => this.#directiveLocation(directive, scope, seen, before));
      if (location !== undefined) locations.push(location);
    }
    return new LocationTable(locations);
  }

  #directiveLocation(directive: Directive, parent: ScopeNode, seen: Set<string>, before: LocationTable | undefined): Location {
    const scope = this.#scope('location', 'location', directive, parent);
    const old = before?.byDirective(directive.id);
    const match = locationMatch(directive);
    this.#mistakes.attempt(() => checkPlace(directive, match, parent));
    const identity = `${match.kind === 'prefix-only' ? 'prefix' : match.kind} ${match.name}`;
    if (match.kind !== 'regex' && seen.has(identity)) {
      this.#mistakes.add(errorAt(directive, `duplicate location "${match.name}"`, directive.args.at(-1)));
    }
    seen.add(identity);
    if (old !== undefined && old.directive === directive && this.previous?.scopes.get(directive.id) === scope) return old;
    return this.#location(match, scope, this.#locations(directive, scope, old?.nested));
  }

  #location(match: LocationMatch, scope: ScopeNode, nested: LocationTable): Location {
    for (const line of scope.linesInForce('error_page')) this.#mistakes.attempt(() => checkErrorPage(line));
    for (const line of scope.linesInForce('client_body_temp_path')) this.#mistakes.attempt(() => checkTemporaryPath(line));
    const handlers = this.#handlers(scope, false);
    const autoRedirect = handlers.content !== undefined && match.name.endsWith('/') && match.kind !== 'regex';
    const types = this.contentTypes.tableOf(scope.linesInForce('types'));
    const settings = locationSettings(this.#conf(scope), this.product, types, autoRedirect);
    return {
      match,
      directive: scope.directive,
      scope: this.core.view(scope),
      settings: handlers.limitsBody ? { ...settings, clientMaxBodySize: 0 } : settings,
      steps: handlers.steps('rewrite', 'precontent'),
      content: handlers.content,
      headerFilters: handlers.headerFilters,
      logHandlers: handlers.logHandlers,
      modules: handlers.modules,
      nested,
    };
  }

  #conf(scope: ScopeNode): CoreConf {
    return this.core.conf(scope) as CoreConf;
  }

  #handlers(scope: ScopeNode, server: boolean): HandlerSet {
    const set = new HandlerSet();
    for (const { declaration, instance, reader } of this.modules) {
      const handlers = this.#mistakes.attempt((): HttpHandlers | undefined =>
        server ? instance.compileServer?.(reader.view(scope)) : instance.compile?.(reader.view(scope)),
      );
      if (handlers !== undefined) set.add(declaration, handlers, scope.directive);
    }
    return set;
  }

  #tls(scope: ScopeNode): ServerTls | undefined {
    for (const { instance, reader } of this.modules) {
      const settings = instance.compileTls?.(reader.view(scope));
      if (settings === undefined) continue;
      try {
        return { settings, context: nodeTls().createSecureContext(settings) };
      } catch (error) {
        const place = scope.lineInForce('ssl_certificate') ?? scope.directive;
        const message = `cannot use certificate, key or ciphers: ${(error as Error).message}`;
        if (place === undefined) throw error;
        throw errorAt(place, message);
      }
    }
    return undefined;
  }
}

/** nginx's rules for where locations may stand. */
function checkPlace(directive: Directive, match: LocationMatch, parent: ScopeNode): void {
  if (parent.kind !== 'location' || parent.directive === undefined) return;
  const outer = locationMatch(parent.directive);
  const shown = directive.args.map((word) => word.text).join(' ');
  const refuse = (message: string): never => {
    throw errorAt(directive, message, directive.args.at(-1));
  };
  if (match.kind === 'named') refuse(`named location "${shown}" can be on the server level only`);
  if (outer.kind === 'exact') refuse(`location "${shown}" cannot be inside the exact location "${outer.name}"`);
  if (outer.kind === 'named') refuse(`location "${shown}" cannot be inside the named location "${outer.name}"`);
  // A prefix in a regular expression begins with its very text, whatever that matches.
  if (match.kind !== 'regex' && !match.name.startsWith(outer.name)) {
    refuse(`location "${match.name}" is outside location "${outer.name}"`);
  }
}
