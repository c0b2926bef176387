import { argType } from '../contract/arg-type.js';
import { LayeredMap } from '../config/layered-map.js';
import { compilePattern } from '../toolkit/pattern.js';
import { ArgError, type ArgType } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';

/** A virtual server of a traffic engine. */
export interface NamedServer {
  readonly names: readonly ServerName[];
}

/** A virtual server chosen by name, with the captures of a regular expression name. */
export interface ServerFound<S> {
  readonly server: S;
  readonly captures: RegExpExecArray | undefined;
}

/** One name of `server_name`, in the form it is looked up by. */
export type ServerName =
  | { readonly kind: 'exact'; readonly name: string }
  /** `*.example.org`: `name` is `example.org`. `.example.org` is this and the exact name. */
  | { readonly kind: 'leading'; readonly name: string }
  /** `www.example.*`: `name` is `www.example`. */
  | { readonly kind: 'trailing'; readonly name: string }
  | { readonly kind: 'regex'; readonly name: string; readonly pattern: RegExp };

/** A server that came, went, or is another object now. */
interface Replaced<S> {
  readonly before: S | undefined;
  readonly after: S | undefined;
}

interface ServedThere<S> {
  readonly server: S;
}

type Kind = ServerName['kind'];
type Names<S> = LayeredMap<string, ServerFound<S>>;
interface NamedByPattern<S> {
  readonly pattern: RegExp;
  readonly server: S;
}

/**
 * The names of all servers of one listening address, chosen as nginx does: exact, longest leading wildcard, longest trailing
 * wildcard, first regular expression, default server. It never changes: {@link change} makes another one that shares what is the same.
 */
export class ServerNames<S extends NamedServer> {
  readonly #exact: Names<S>;
  readonly #leading: Names<S>;
  readonly #trailing: Names<S>;
  readonly #regexes: readonly NamedByPattern<S>[];
  readonly #default: ServerFound<S>;
  readonly #single: boolean;

  private constructor(
    names: Readonly<Record<Exclude<Kind, 'regex'>, Names<S>>>,
    regexes: readonly NamedByPattern<S>[],
    defaultServer: S,
    servers: number,
    /** Names that an earlier server has, as they are written. */
    readonly conflicts: readonly string[],
  ) {
    this.#exact = names.exact;
    this.#leading = names.leading;
    this.#trailing = names.trailing;
    this.#regexes = regexes;
    this.#default = { server: defaultServer, captures: undefined };
    this.#single = servers === 1 && regexes.length === 0;
  }

  /** @param servers in the order of the configuration; of two with one name the first wins. */
  static of<S extends NamedServer>(servers: readonly S[], defaultServer: S): ServerNames<S> {
    const tables = {
      exact: new Map<string, ServerFound<S>>(),
      leading: new Map<string, ServerFound<S>>(),
      trailing: new Map<string, ServerFound<S>>(),
    };
    const regexes: NamedByPattern<S>[] = [];
    const conflicts: string[] = [];
    for (const server of servers) {
      const found = { server, captures: undefined };
      for (const name of server.names) {
        if (name.kind === 'regex') regexes.push({ pattern: name.pattern, server });
        else if (tables[name.kind].has(name.name)) conflicts.push(written(name));
        else tables[name.kind].set(name.name, found);
      }
    }
    const names = { exact: LayeredMap.of(tables.exact), leading: LayeredMap.of(tables.leading), trailing: LayeredMap.of(tables.trailing) };
    return new ServerNames(names, regexes, defaultServer, servers.length, conflicts);
  }

  /**
   * The names after some servers became others. Costs what the change is, as long as no name is there twice and no regular expression
   * comes or goes.
   * @param lines the servers after the change, in the order of the configuration
   */
  change(lines: readonly ServedThere<S>[], defaultServer: S, changes: readonly Replaced<S>[]): ServerNames<S> {
    const tables = {
      exact: new Map<string, ServerFound<S> | undefined>(),
      leading: new Map<string, ServerFound<S> | undefined>(),
      trailing: new Map<string, ServerFound<S> | undefined>(),
    };
    const before = { exact: this.#exact, leading: this.#leading, trailing: this.#trailing };
    const successors = new Map<S, S>();
    let isSimple = this.conflicts.length === 0;
    for (const change of changes)
      for (const name of change.before?.names ?? []) if (name.kind !== 'regex') tables[name.kind].set(name.name, undefined);
    for (const change of changes) {
      if (!sameRegexes(change)) isSimple = false;
      if (change.after === undefined) continue;
      if (change.before !== undefined) successors.set(change.before, change.after);
      const found = { server: change.after, captures: undefined };
      for (const { kind, name } of change.after.names) {
        if (kind === 'regex') continue;
        const table = tables[kind];
        if (table.has(name) ? table.get(name) !== undefined : before[kind].get(name) !== undefined) isSimple = false;
        table.set(name, found);
      }
    }
    if (!isSimple)
      return ServerNames.of(
        lines.map(({ server }) => server),
        defaultServer,
      );
    const names = {
      exact: this.#exact.with(tables.exact),
      leading: this.#leading.with(tables.leading),
      trailing: this.#trailing.with(tables.trailing),
    };
    const regexes =
      this.#regexes.length === 0
        ? this.#regexes
        : this.#regexes.map((named) => ({ ...named, server: successors.get(named.server) ?? named.server }));
    return new ServerNames(names, regexes, defaultServer, lines.length, []);
  }

  get defaultServer(): S {
    return this.#default.server;
  }

  /** @param host lower case, without port; empty: no Host was sent. */
  find(host: string): ServerFound<S> {
    if (this.#single) return this.#default;
    return this.#exact.get(host) ?? this.#findWildcard(host) ?? this.#findRegex(host) ?? this.#default;
  }

  /** The server that has a name as `server_name` writes it: its lookup forms, a wildcard or a regular expression. */
  named(forms: readonly ServerName[]): S | undefined {
    const tables = { exact: this.#exact, leading: this.#leading, trailing: this.#trailing };
    for (const { kind, name } of forms) {
      const found = kind === 'regex' ? this.#regexes.find(({ server }) => hasRegex(server, name))?.server : tables[kind].get(name)?.server;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #findWildcard(host: string): ServerFound<S> | undefined {
    if (this.#leading.size > 0) {
      for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        const found = this.#leading.get(host.slice(dot + 1));
        if (found !== undefined) return found;
      }
    }
    if (this.#trailing.size > 0) {
      for (let dot = host.lastIndexOf('.'); dot > 0; dot = host.lastIndexOf('.', dot - 1)) {
        const found = this.#trailing.get(host.slice(0, dot));
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  #findRegex(host: string): ServerFound<S> | undefined {
    if (host === '') return undefined;
    for (const { pattern, server } of this.#regexes) {
      const captures = pattern.exec(host);
      if (captures !== null) return { server, captures };
    }
    return undefined;
  }
}

function written({ kind, name }: ServerName): string {
  if (kind === 'leading') return `*.${name}`;
  return kind === 'trailing' ? `${name}.*` : name;
}

/** Regular expressions are asked in order: only where they stay the same do their places. */
function sameRegexes({ before, after }: Replaced<NamedServer>): boolean {
  return regexesOf(before) === regexesOf(after);
}

function hasRegex({ names }: NamedServer, written: string): boolean {
  return names.some(({ kind, name }) => kind === 'regex' && name === written);
}

function regexesOf(server: NamedServer | undefined): string {
  return (server?.names ?? []).flatMap(({ kind, name }) => (kind === 'regex' ? [name] : [])).join('\n');
}

/** One name of a `server_name` line. */
export const serverName: ArgType<readonly ServerName[]> = argType({
  kind: 'text',
  form: 'name',
  parse(text, { warn }) {
    if (text.includes('/')) warn?.(`server name "${text}" has suspicious symbols`);
    return parseServerName(text);
  },
});

/** Values of the `server_name` lines of a server, whose words were checked with the tree. */
export function serverNames(lines: readonly Directive[]): { name: string; names: ServerName[] } {
  const words = lines.flatMap((line) => line.args.map((word) => word.text));
  const names = words.flatMap((word) => parseServerName(word));
  if (names.length === 0) names.push({ kind: 'exact', name: '' });
  // The dot of ".example.org" means a wildcard and is not a part of the name.
  return { name: (words[0] ?? '').replace(/^\./, ''), names };
}

const WILDCARD_HINT = 'a "*" is the first or the last label: *.example.org, www.example.*';

/**
 * The lookup forms of one `server_name` argument.
 * @throws ArgError `invalid server name or wildcard "x"`, or for a bad regular expression.
 */
export function parseServerName(text: string): readonly ServerName[] {
  if (text.startsWith('~')) {
    if (text === '~') throw new ArgError('empty regex in server name "~"', 'the expression follows the "~": ~^www\\d+\\.example\\.com$');
    return [{ kind: 'regex', name: text, pattern: compilePattern(text.slice(1), true) }];
  }
  const name = text.toLowerCase();
  const star = name.indexOf('*');
  const wildcard = star >= 0;
  const wellPlaced = name === '*' ? false : name.startsWith('*.') || name.endsWith('.*');
  if ((wildcard && (!wellPlaced || star !== name.lastIndexOf('*'))) || name.includes('..') || name === '.') {
    throw new ArgError(`invalid server name or wildcard "${text}"`, WILDCARD_HINT);
  }
  if (name.startsWith('*.')) return [{ kind: 'leading', name: name.slice(2) }];
  if (name.endsWith('.*')) return [{ kind: 'trailing', name: name.slice(0, -2) }];
  if (name.startsWith('.')) {
    return [
      { kind: 'exact', name: name.slice(1) },
      { kind: 'leading', name: name.slice(1) },
    ];
  }
  return [{ kind: 'exact', name }];
}
