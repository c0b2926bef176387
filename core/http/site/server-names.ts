import { compilePattern } from '../../module/pattern.js';
import { ArgError, type ArgType } from '../../module/spec.js';
import type { VirtualServer } from './virtual-server.js';

/** A virtual server chosen by name, with the captures of a regular expression name. */
export interface ServerFound {
  readonly server: VirtualServer;
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

/**
 * The names of all servers behind one listening address, chosen as nginx does: exact, longest leading wildcard, longest trailing
 * wildcard, first regular expression, default server.
 */
export class ServerNames {
  readonly #exact = new Map<string, ServerFound>();
  readonly #leading = new Map<string, ServerFound>();
  readonly #trailing = new Map<string, ServerFound>();
  readonly #regexes: { pattern: RegExp; server: VirtualServer }[] = [];
  /** Names that an earlier server has, as they are written. */
  readonly conflicts: string[] = [];
  readonly #default: ServerFound;
  readonly #single: boolean;

  /** @param servers in the order of the configuration; of two with one name the first wins. */
  constructor(servers: readonly VirtualServer[], defaultServer: VirtualServer) {
    this.#default = { server: defaultServer, captures: undefined };
    for (const server of servers) for (const name of server.names) this.#add(name, server);
    this.#single = servers.length === 1 && this.#regexes.length === 0;
  }

  get defaultServer(): VirtualServer {
    return this.#default.server;
  }

  /** @param host lower case, without port; empty: no Host was sent. */
  find(host: string): ServerFound {
    if (this.#single) return this.#default;
    return this.#exact.get(host) ?? this.#findWildcard(host) ?? this.#findRegex(host) ?? this.#default;
  }

  #findWildcard(host: string): ServerFound | undefined {
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

  #findRegex(host: string): ServerFound | undefined {
    if (host === '') return undefined;
    for (const { pattern, server } of this.#regexes) {
      const captures = pattern.exec(host);
      if (captures !== null) return { server, captures };
    }
    return undefined;
  }

  #add(name: ServerName, server: VirtualServer): void {
    if (name.kind === 'regex') {
      this.#regexes.push({ pattern: name.pattern, server });
      return;
    }
    const found = { server, captures: undefined };
    if (name.kind === 'exact') this.#take(this.#exact, name.name, found, name.name);
    else if (name.kind === 'leading') this.#take(this.#leading, name.name, found, `*.${name.name}`);
    else this.#take(this.#trailing, name.name, found, `${name.name}.*`);
  }

  #take(names: Map<string, ServerFound>, name: string, found: ServerFound, written: string): void {
    if (names.has(name)) this.conflicts.push(written);
    else names.set(name, found);
  }
}

/** One name of a `server_name` line. */
export const serverName: ArgType<readonly ServerName[]> = {
  kind: 'text',
  form: 'name',
  parse(text, { warn }) {
    if (text.includes('/')) warn?.(`server name "${text}" has suspicious symbols`);
    return parseServerName(text);
  },
};

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
