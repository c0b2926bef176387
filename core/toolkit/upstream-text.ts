/** Whole upstreams as the API shows and takes them. */
import { exactTree, shownTree } from '../contract/print.js';
import type { Directive, NewDirective } from '../contract/tree.js';
import { upstreamDirectives } from './upstream.js';

/** Directives that say how a member is chosen. */
const ALGORITHMS = new Set(['least_conn', 'least_time', 'ip_hash', 'hash', 'random', 'sticky']);
/** Shown as fields of their own, with their defaults. */
const SETTINGS = {
  keepalive: upstreamDirectives.keepalive.default,
  keepalive_requests: upstreamDirectives.keepalive_requests.default,
  keepalive_time: upstreamDirectives.keepalive_time.default,
  keepalive_timeout: upstreamDirectives.keepalive_timeout.default,
  resolver: undefined,
  state: undefined,
} as const;
/** Addresses of upstreams whose connections are not kept. */
const WITHOUT_KEEPALIVE = ['resolver', 'state'] as const;

/** An upstream of a list. */
export interface ShownUpstream extends Partial<Readonly<Record<keyof typeof SETTINGS, string>>> {
  readonly upstream_name: string;
  /** `round_robin`, or what the block says. */
  readonly algorithm: string;
  readonly zone?: string;
  /** Of the configuration file. */
  readonly is_static: boolean;
  readonly upstream_body: string;
}

/** @param hasKeepalive upstreams of its engine keep idle connections */
export function shownUpstream(upstream: Directive, isStatic: boolean, hasKeepalive: boolean): ShownUpstream {
  const lines = new Map<string, Directive>();
  for (const line of upstream.block ?? []) if (line.name !== 'server') lines.set(line.name, line);
  const names = hasKeepalive ? (Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]) : WITHOUT_KEEPALIVE;
  const settings = names.map((name) => [name, wordsOf(lines.get(name)) ?? SETTINGS[name]] as const);
  const algorithm = [...lines.values()].find(({ name }) => ALGORITHMS.has(name));
  const zone = lines.get('zone')?.args[0]?.text;
  return {
    upstream_name: upstreamName(upstream),
    algorithm: algorithm === undefined ? 'round_robin' : [algorithm.name, wordsOf(algorithm)].join(' ').trimEnd(),
    ...(zone !== undefined && { zone }),
    ...Object.fromEntries(settings.filter(([, value]) => value !== undefined)),
    is_static: isStatic,
    upstream_body: shownTree(upstream.block ?? []),
  };
}

export const upstreamName = ({ args }: Directive): string => args[0]?.text ?? '';

export function newUpstream(name: string, body: string): NewDirective {
  return { name: 'upstream', words: [name], block: [{ text: body, pointer: '/upstream_body' }] };
}

/** The upstream with another body and the members that it has. */
export function changedUpstream(upstream: Directive, body: string): NewDirective {
  const made = newUpstream(upstreamName(upstream), body);
  const members = exactTree(upstream.block?.named('server') ?? []);
  return { ...made, block: [...(made.block ?? []), { text: members, pointer: '' }] };
}

const wordsOf = (directive: Directive | undefined): string | undefined => directive?.args.map(({ text }) => text).join(' ');

/** True if an upstream has servers, and all of them with `backup`. */
export function hasOnlyBackups(upstream: Directive): boolean {
  const servers = upstream.block?.named('server') ?? [];
  let any = false;
  for (const { args } of servers) {
    if (!args.some(({ text }) => text === 'backup')) return false;
    any = true;
  }
  return any;
}

/** The error of such an upstream, in nginx's words. */
export function noServers(upstream: Directive): { readonly message: string; readonly hint: string } {
  return { message: `no servers in upstream "${upstreamName(upstream)}"`, hint: 'add a server without "backup"' };
}
