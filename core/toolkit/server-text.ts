/** Whole servers as the API shows and takes them. */
import { DYNAMIC_CERTIFICATE } from '../contract/certificates.js';
import { ApiError } from '../contract/control.js';
import { exactTree, shownTree } from '../contract/print.js';
import { namesIn, type ServerPlace } from './server-place.js';
import type { BlockPart, Directive, NewDirective } from '../contract/tree.js';
import type { VirtualServerView } from '../contract/virtual-servers.js';

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

/** Directives that a body must not have, and the fields to use instead. */
const PLACE_FIELDS: ReadonlyMap<string, string> = new Map([
  ['listen', 'the fields "addr_port" and "listen_option"'],
  ['server_name', 'the field "server_name"'],
]);
/** Directives of a server that other fields and calls set. */
const KEPT: ReadonlySet<string> = new Set(['listen', 'server_name', DYNAMIC_CERTIFICATE]);

export function newServer({
  addr_port: address,
  listen_option: options = '',
  server_name: names,
  server_body: body,
}: ServerFields): NewDirective {
  const words = options.split(/\s+/).filter((option) => option !== '');
  // That the address is one was checked.
  const pointer = words.length > 0 ? '/listen_option' : '/addr_port';
  const block: BlockPart[] = [{ name: 'listen', words: [...addressWords(address), ...words], pointer }];
  if (names !== undefined) block.push({ name: 'server_name', words: namesIn(names), pointer: '/server_name' });
  return { name: 'server', words: [], block: [...block, ...bodyParts(body)] };
}

/** @throws ApiError 400 `InvalidField`: the address says it as well where it names a server, so it is said there */
export function assertNoUdpOption({ addr_port: address, listen_option: options = '' }: ServerFields): void {
  if (!options.split(/\s+/).includes('udp')) return;
  const message = `"udp" is a part of the address: "${addressWords(address)[0]} udp"`;
  throw new ApiError(400, 'InvalidField', message, [{ pointer: '/listen_option', message }]);
}

/** An address of `stream` for datagrams is written with `udp`. */
function addressWords(address: string): readonly string[] {
  const [, bare, udp] = /^(\S+)\s+(udp)$/.exec(address.trim()) ?? [];
  return bare === undefined || udp === undefined ? [address] : [bare, udp];
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

/** The body alone, to look at what was sent. */
export const sentBody = (body: string): NewDirective => ({ name: 'server', words: [], block: bodyParts(body) });

/** @throws ApiError 400 when a body has what other fields say: a server would be where no call finds it */
export function assertNoPlace({ block }: Directive): void {
  const details = Array.from(block ?? []).flatMap(({ name, source: { line, column } }) => {
    const field = PLACE_FIELDS.get(name);
    return field === undefined ? [] : { message: `"${name}" is not allowed here: use ${field}`, pointer: '/server_body', line, column };
  });
  const [first] = details;
  if (first !== undefined) throw new ApiError(400, 'ConfigError', first.message, details);
}

const bodyParts = (body = ''): readonly BlockPart[] => [{ text: body, pointer: '/server_body' }];
