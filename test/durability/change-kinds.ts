/** Every kind of thing that the API changes, as calls and as what lists show of it. */
import type { Node } from '../control/node.js';

export interface CarriedCall {
  readonly method: string;
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: unknown;
}

export interface Kind {
  /** The call that gives a thing a content, which is a number as text; undefined: removes it. */
  call(node: Node, name: string, before: string | undefined, after: string | undefined): CarriedCall;
  /** All things of this kind with their contents. */
  list(node: Node): Promise<readonly (readonly [name: string, content: string])[]>;
}

type Listed = readonly Readonly<Record<string, unknown>>[];

async function get(node: Node, path: string): Promise<Listed> {
  const { status, json, body } = await node.call('GET', path);
  if (status !== 200) throw new Error(`GET ${path}: ${body}`);
  return json as Listed;
}

const numberIn = (text: unknown): string => /\d+/.exec(String(text))?.[0] ?? '';
const address = (node: Node): string => `127.0.0.1:${node.srv.port('web')}`;

const member: Kind = {
  call: (_, name, before, after) => {
    const server = `10.0.0.${name}:80`;
    const place = `/upstream_api/http/upstreams/demo/servers`;
    if (before === undefined) return { method: 'POST', path: place, body: { server, weight: after } };
    if (after === undefined) return { method: 'DELETE', path: `${place}/${server}` };
    return { method: 'PATCH', path: `${place}/${server}`, body: { weight: after } };
  },
  list: async (node) =>
    (await get(node, '/upstream_api/http/upstreams/demo/servers')).flatMap(({ server, weight }) => {
      const [, name] = /^10\.0\.0\.(\d+):80$/.exec(String(server)) ?? [];
      return name === undefined ? [] : [[name, String(weight)] as const];
    }),
};

const upstream: Kind = {
  call: (_, name, before, after) => {
    const body = `zone u${name} 64k; keepalive ${after}`;
    if (before === undefined)
      return { method: 'POST', path: '/dyn_ups', body: { upstream_name: `u${name}`, upstream_body: `${body}; server 10.1.0.1` } };
    if (after === undefined) return { method: 'PUT', path: '/dyn_ups?force=1', body: { type: 'del', upstream_name: `u${name}` } };
    return { method: 'PATCH', path: `/dyn_ups/u${name}?force=1`, body: { upstream_body: body } };
  },
  list: async (node) =>
    (await get(node, '/dyn_ups')).flatMap(({ upstream_name: name, keepalive }) =>
      /^u\d/.test(String(name)) ? [[numberIn(name), String(keepalive)] as const] : [],
    ),
};

const location: Kind = {
  call: (node, name, before, after) => {
    const key = { location_rule: '=', location_name: `/l${name}` };
    const [place, content] = [{ addr_port: address(node) }, { location_body: `return 200 ${after}` }];
    if (before === undefined) return { method: 'POST', path: '/dyn_loc', body: { ...place, locations: [{ ...key, ...content }] } };
    if (after === undefined) return { method: 'PUT', path: '/dyn_loc?force=1', body: { type: 'del', ...place, ...key } };
    return { method: 'PATCH', path: '/dyn_loc?force=1', body: { ...place, ...key, ...content } };
  },
  list: async (node) =>
    (await get(node, `/dyn_loc?addr_port=${address(node)}`)).flatMap(({ location_name: name, location_body: body }) =>
      /^\/l\d/.test(String(name)) ? [[numberIn(name), String(/return 200 (\d+)/.exec(String(body))?.[1])] as const] : [],
    ),
};

const server: Kind = {
  call: (node, name, before, after) => {
    const place = { addr_port: address(node), server_name: `s${name}` };
    const content = { server_body: `return 200 ${after}` };
    if (after === undefined) return { method: 'PUT', path: '/dyn_srv?force=1', body: { type: 'del', ...place } };
    const isNew = before === undefined;
    return { method: isNew ? 'POST' : 'PATCH', path: isNew ? '/dyn_srv' : '/dyn_srv?force=1', body: { ...place, ...content } };
  },
  list: async (node) =>
    (await get(node, '/dyn_srv')).flatMap(({ server_name: name, server_body: body }) =>
      /^s\d/.test(String(name)) ? [[numberIn(name), String(/return 200 (\d+)/.exec(String(body))?.[1])] as const] : [],
    ),
};

/** A setting of a location of the file. */
const header: Kind = {
  call: (node, name, _, after) => {
    const headers = after === undefined ? null : [{ key: 'X-Content', value: after, always: true }];
    const body = { servers: [{ listens: [address(node)], serverNames: ['file'], locations: [{ location: `/h${name}`, headers }] }] };
    return { method: 'PUT', path: '/config/http_dyn_header', body };
  },
  list: async (node) => {
    const { servers } = (await get(node, '/config/http_dyn_header')) as unknown as {
      servers: { locations?: { location: string; headers?: { value: string }[] }[] }[];
    };
    return servers.flatMap(({ locations = [] }) =>
      locations.flatMap(({ location: place, headers: [first] = [] }) =>
        first === undefined || !/^\/h\d/.test(place) ? [] : [[numberIn(place), first.value] as const],
      ),
    );
  },
};

export const KINDS: ReadonlyMap<string, Kind> = new Map(Object.entries({ member, upstream, location, server, header }));
