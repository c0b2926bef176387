import { DYNAMIC_CERTIFICATE } from '../../core/module/certificates.js';
import { exactTree, shownTree } from '../../core/module/print.js';
import { namesIn, type ServerPlace } from '../../core/module/server-place.js';
import type { BlockPart, Directive, NewDirective } from '../../core/module/tree.js';
import type { VirtualServerView } from '../../core/module/virtual-servers.js';

export interface ServerFields extends ServerPlace {
  /** Parameters of `listen`: `ssl`, `default_server`. */
  readonly listen_option?: string;
  readonly server_body?: string;
}

/** A server of a list. */
export interface ShownServer {
  /** Every address that it listens on. */
  readonly listens: readonly string[];
  readonly server_name: string;
  /** Of the configuration file. */
  readonly is_static: boolean;
  /** Everything but `listen`, `server_name`, and certificates of the API. */
  readonly server_body: string;
}

/** What other fields and other calls say of a server. */
const KEPT: ReadonlySet<string> = new Set(['listen', 'server_name', DYNAMIC_CERTIFICATE]);

export function newServer({
  addr_port: address,
  listen_option: options = '',
  server_name: names,
  server_body: body,
}: ServerFields): NewDirective {
  const block: BlockPart[] = [{ name: 'listen', words: [address, ...options.split(/\s+/).filter((option) => option !== '')] }];
  if (names !== undefined) block.push({ name: 'server_name', words: namesIn(names) });
  return { name: 'server', words: [], block: [...block, ...bodyParts(body)] };
}

/** The server with another body, at the addresses, under the names and with the certificates that it has. */
export function changedServer({ block }: Directive, body: string): NewDirective {
  const kept = [...KEPT].flatMap((name) => [...(block?.named(name) ?? [])]);
  return { name: 'server', words: [], block: [{ text: exactTree(kept), pointer: '' }, ...bodyParts(body)] };
}

export function shownServer({ directive, addresses, names }: VirtualServerView, isStatic: boolean): ShownServer {
  const body = Array.from(directive.block ?? []).filter(({ name }) => !KEPT.has(name));
  return { listens: addresses, server_name: names.join(' '), is_static: isStatic, server_body: shownTree(body) };
}

const bodyParts = (body = ''): readonly BlockPart[] => [{ text: body, pointer: '/server_body' }];
