import type { ArgContext } from '../contract/spec.js';
import { parseServerName, type ServerName } from '../net/server-names.js';
import type { ListenOptions } from '../net/listen-options.js';
import type { ServerDialect } from '../net/server-dialect.js';
import type { Directive } from '../contract/tree.js';
import { VirtualServers, type VirtualServerView } from '../contract/virtual-servers.js';
import type { StagedChange } from './staged-change.js';
import type { Staging } from './staging.js';

/** A server that is not compiled. */
interface StagedServer extends VirtualServerView {
  readonly listens: readonly ListenOptions[];
}

/** The virtual servers for the caller: the current ones, or in a transaction the ones changed by its calls. */
export class StagedServers extends VirtualServers {
  /** A directive never changes. */
  readonly #read = new WeakMap<Directive, StagedServer>();

  constructor(
    private readonly inForce: VirtualServers,
    private readonly dialect: ServerDialect,
    private readonly staging: Staging,
    private readonly args: () => Pick<ArgContext, 'path'>,
  ) {
    super();
  }

  *all(): Generator<VirtualServerView> {
    const change = this.staging.current;
    if (change === undefined) yield* this.inForce.all();
    else yield* this.#serversOf(change);
  }

  at(address: string): readonly VirtualServerView[] {
    const change = this.staging.current;
    if (change === undefined) return this.inForce.at(address);
    const wanted = this.#canonical(address);
    if (!this.#isConcerned(change, wanted)) return this.inForce.at(address);
    const all = Array.from(this.#serversOf(change)).filter(({ addresses }) => addresses.includes(wanted));
    const first = this.#defaultOf(all, wanted);
    return first === undefined ? [] : [first, ...all.filter((server) => server !== first)];
  }

  find(address: string, name: string | undefined): VirtualServerView | undefined {
    const change = this.staging.current;
    if (change === undefined) return this.inForce.find(address, name);
    if (name === undefined) return this.at(address)[0];
    const known = this.inForce.find(address, name);
    if (known !== undefined && !change.isTouched(known.directive.id)) return known;
    const [wanted, forms] = [this.#canonical(address), parseServerName(name)];
    for (const server of this.#touched(change)) if (server.addresses.includes(wanted) && hasName(server, forms)) return server;
    return undefined;
  }

  *usersOf(upstream: string): Generator<readonly Directive[]> {
    const change = this.staging.current;
    for (const path of this.inForce.usersOf(upstream)) {
      const server = path.find(({ name }) => name === 'server');
      if (change === undefined || server === undefined || !change.isTouched(server.id)) yield path;
    }
    for (const { directive } of change === undefined ? [] : this.#touched(change)) yield* usersIn(directive, [directive], upstream);
  }

  *#serversOf(change: StagedChange): Generator<StagedServer> {
    for (const { block } of change.tree.root.named(this.dialect.engine))
      for (const server of block?.named('server') ?? []) yield this.#view(server);
  }

  *#touched(change: StagedChange): Generator<StagedServer> {
    for (const id of change.touched) {
      const directive = change.tree.byId(id);
      if (directive?.name === 'server' && change.tree.parentOf(id)?.name === this.dialect.engine) yield this.#view(directive);
    }
  }

  /** True if the change has touched a server of an address. */
  #isConcerned(change: StagedChange, address: string): boolean {
    for (const id of change.touched) {
      for (const directive of [change.base.byId(id), change.tree.byId(id)])
        if (directive?.name === 'server' && this.#view(directive).addresses.includes(address)) return true;
    }
    return false;
  }

  #defaultOf(servers: readonly StagedServer[], address: string): StagedServer | undefined {
    const saysSo = ({ listens }: StagedServer): boolean => listens.some((one) => one.address === address && one.defaultServer);
    return servers.find(saysSo) ?? servers[0];
  }

  #canonical(address: string): string {
    return this.dialect.address(address, (text) => this.args().path(text))?.address ?? address;
  }

  #view(directive: Directive): StagedServer {
    const known = this.#read.get(directive);
    if (known !== undefined) return known;
    const names = Array.from(directive.block?.named('server_name') ?? []).flatMap(({ args }) => args.map(({ text }) => text));
    const listens = this.#listensOf(directive);
    const view = { directive, listens, names, addresses: listens.map(({ address }) => address) };
    this.#read.set(directive, view);
    return view;
  }

  /** None if they are invalid: the change as a whole is rejected for it. */
  #listensOf({ block }: Directive): readonly ListenOptions[] {
    try {
      return this.dialect.listens([...(block?.named('listen') ?? [])], (text) => this.args().path(text));
    } catch {
      return [];
    }
  }
}

function hasName({ names }: StagedServer, wanted: readonly ServerName[]): boolean {
  const all = names.length === 0 ? [''] : names;
  return all.some((name) => formsOf(name).some((form) => wanted.some((one) => one.kind === form.kind && one.name === form.name)));
}

function formsOf(name: string): readonly ServerName[] {
  try {
    return parseServerName(name);
  } catch {
    return [];
  }
}

/** Directives that pass requests to an upstream in a block, found by its text: it was not compiled yet. @param path to the block */
function* usersIn(block: Directive, path: readonly Directive[], upstream: string): Generator<readonly Directive[]> {
  let isUser = false;
  for (const directive of block.block ?? []) {
    if (directive.block !== undefined) yield* usersIn(directive, [...path, directive], upstream);
    else if (directive.name.endsWith('_pass') && hostOf(directive.args[0]?.text ?? '') === upstream.toLowerCase()) isUser = true;
  }
  if (isUser) yield path;
}

/** Of `http://shop/x`, and of `shop`; in lower case. */
function hostOf(target: string): string {
  return target
    .replace(/^[a-z]+:\/\//, '')
    .replace(/[/:?].*$/s, '')
    .toLowerCase();
}
