import { existsSync } from 'node:fs';
import { LARGE_BODY, PACKED_10K, SMALL_BODY, TEXT_100K, TEXT_10K } from './backend.js';
import { negotiatedCipher } from './certificate.js';
import { loadHttp2 } from './h2load.js';
import { loadHandshakes } from './handshakes.js';
import type { Lab } from './lab.js';
import { type Load, load, type LoadShape } from './load.js';
import { NGINX_STREAM_MODULE } from './nginx-stream.js';
import type { RunningSite, SiteShape } from './running-site.js';
import { CACHE, CACHED_FILES, MEMORY, MISSES, MIXED, OWN_ANSWER, COMPRESSED, DECOMPRESSED, FILES, OVER_HTTP2, UPLOADS } from './site.js';

/** The same cipher for every server, or the comparison is one of ciphers. It is what OpenSSL prefers on both sides. */
const CIPHER = 'TLSv1.3 TLS_AES_256_GCM_SHA384';

const GIB = 2 ** 30;

/** Requests of wrk, h2load, or `openssl s_time`. */
export interface Traffic {
  readonly name: string;
  readonly title: string;
  readonly how: string;
  readonly path: string;
  readonly connections: number;
  /** Bytes of a whole response body. */
  readonly body: number;
  /** Bytes of the body of each request. */
  readonly upload?: number;
  readonly headers?: readonly string[];
  readonly tls?: boolean;
  /** Each request on a TLS connection of its own. */
  readonly handshakes?: 'full' | 'resumed';
  /** Servers that cannot do it. */
  readonly without?: readonly string[];
  /** HTTP/2, with as many requests at once on each connection. */
  readonly streams?: number;
  /** The connections are passed on by the stream module. */
  readonly stream?: boolean;
  /** The backend needs more than `/1k` and `/10m`. */
  readonly needsTexts?: boolean;
  /** Processor time is divided by requests or by bytes. */
  readonly per: 'request' | 'GiB';
  /** Not part of the report: measured with --pairs and --profile. */
  readonly isUnreported?: boolean;
}

/** As srv and nginx have it; haproxy has a language of its own for it. */
const gzipTraffic = {
  connections: 64,
  headers: ['Accept-Encoding: gzip'],
  without: ['haproxy'],
  needsTexts: true,
  per: 'request',
} as const;

export const traffics: readonly Traffic[] = [
  {
    name: '1k',
    title: '1 KB proxied, keep-alive',
    how: '64 connections, a body of 1 KB from the backend.',
    path: '/1k',
    connections: 64,
    body: SMALL_BODY,
    per: 'request',
  },
  {
    name: 'h2-member',
    title: '1 KB proxied, HTTP/2 to the member',
    how: '64 connections of clients, a body of 1 KB from the backend; srv speaks HTTP/2 with it, the others HTTP/1 over kept connections.',
    path: OVER_HTTP2,
    connections: 64,
    body: SMALL_BODY,
    per: 'request',
  },
  {
    name: '10m',
    title: '10 MB proxied',
    how: '8 connections, a body of 10 MB from the backend; nothing is written to temporary files.',
    path: '/10m',
    connections: 8,
    body: LARGE_BODY,
    per: 'GiB',
  },
  {
    name: 'upload-10m',
    title: '10 MB uploaded',
    how: '8 connections, requests with a body of 10 MB that is passed to the backend while it comes (`proxy_request_buffering off`).',
    path: UPLOADS,
    connections: 8,
    body: SMALL_BODY,
    upload: LARGE_BODY,
    without: ['haproxy', 'varnish'],
    needsTexts: true,
    per: 'GiB',
    isUnreported: true,
  },
  {
    name: 'conn',
    title: 'New connection for each request',
    how: '64 at a time, `Connection: close`, 1 KB; connections to the backend are kept.',
    path: '/1k',
    connections: 64,
    body: SMALL_BODY,
    headers: ['Connection: close'],
    per: 'request',
  },
  {
    name: 'tls',
    title: 'TLS, keep-alive',
    how: `64 connections, 1 KB; the same ECDSA P-256 certificate and ${CIPHER} for all, which is checked.`,
    path: '/1k',
    connections: 64,
    body: SMALL_BODY,
    tls: true,
    per: 'request',
  },
  ...(['full', 'resumed'] as const).map((handshakes): Traffic => ({
    name: `tls-${handshakes}`,
    title: handshakes === 'full' ? 'TLS, a full handshake for each request' : 'TLS, a resumed session for each request',
    how: `8 at a time, HTTP/1.0, 1 KB, TLSv1.3, an ECDSA P-256 certificate; connections to the backend are kept.`,
    path: '/1k',
    connections: 8,
    body: SMALL_BODY,
    tls: true,
    handshakes,
    per: 'request',
  })),
  {
    name: 'static-1k',
    title: 'File of 1 KB, keep-alive',
    how: '64 connections; everything about files as by default: no sendfile, no open_file_cache.',
    path: `${FILES}1k`,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy'],
    per: 'request',
  },
  {
    name: 'cached-1k',
    title: 'File of 1 KB with open_file_cache',
    how: '64 connections, `open_file_cache max=1000`.',
    path: `${CACHED_FILES}1k`,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy'],
    per: 'request',
  },
  {
    name: 'hit-1k',
    title: '1 KB from a cache',
    how: '64 connections, `proxy_cache` in files, one key.',
    path: `${CACHE}/1k`,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy'],
    per: 'request',
  },
  {
    name: 'memory-1k',
    title: '1 KB from a cache in memory',
    how: '64 connections, `proxy_cache`, one key; srv with `memory=64m`.',
    path: `${MEMORY}/1k`,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy'],
    per: 'request',
  },
  {
    name: 'miss-1k',
    title: '1 KB proxied, and stored in a cache',
    how: '64 connections, `proxy_cache` with a key that no request has again: to be compared with 1 KB proxied.',
    path: `${MISSES}/1k`,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy', 'varnish'],
    per: 'request',
  },
  {
    name: 'mixed-1k',
    title: '1 KB, nine of ten from a cache',
    how: '64 connections, `proxy_cache` in files: 90 % have one key, and each of the others one that no request has again.',
    path: `${MIXED}/1k`,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy', 'varnish'],
    per: 'request',
  },
  {
    name: 'own-1k',
    title: '1 KB by return',
    how: '64 connections, `return 200`: what a response costs whose source costs nothing.',
    path: OWN_ANSWER,
    connections: 64,
    body: SMALL_BODY,
    without: ['haproxy'],
    per: 'request',
    isUnreported: true,
  },
  {
    name: 'hit-10m',
    title: '10 MB from a cache',
    how: '8 connections, `proxy_cache` in files, one key.',
    path: `${CACHE}/10m`,
    connections: 8,
    body: LARGE_BODY,
    without: ['haproxy'],
    per: 'GiB',
  },
  {
    name: 'static-10m',
    title: 'File of 10 MB',
    how: '8 connections; everything about files as by default: no sendfile, no open_file_cache.',
    path: `${FILES}10m`,
    connections: 8,
    body: LARGE_BODY,
    without: ['haproxy'],
    per: 'GiB',
  },
  {
    name: 'static-10m-tls',
    title: 'File of 10 MB, over TLS',
    how: '8 connections; everything about files as by default: no sendfile, no open_file_cache.',
    path: `${FILES}10m`,
    connections: 8,
    body: LARGE_BODY,
    tls: true,
    without: ['haproxy'],
    per: 'GiB',
  },
  {
    ...gzipTraffic,
    name: 'gzip',
    title: '10 KB of text proxied, compressed',
    how: '64 connections, `gzip on`, a text of 10 KB from the backend that becomes about 2 KB.',
    path: `${COMPRESSED}${TEXT_10K}`,
    body: 1024,
  },
  {
    ...gzipTraffic,
    name: 'gzip-100k',
    title: '100 KB of text proxied, compressed',
    how: '64 connections, `gzip on`, a text of 100 KB from the backend.',
    path: `${COMPRESSED}${TEXT_100K}`,
    body: 10_240,
    isUnreported: true,
  },
  {
    ...gzipTraffic,
    name: 'gunzip',
    title: '10 KB of text proxied, decompressed',
    how: '64 connections, `gunzip on`, a compressed text of 10 KB from the backend.',
    path: `${DECOMPRESSED}${PACKED_10K}`,
    headers: [],
    body: 10_240,
    isUnreported: true,
  },
  {
    name: 'h2',
    title: 'HTTP/2, without TLS',
    how: '8 connections with 8 requests each at a time, 1 KB from the backend, which is spoken to by HTTP/1.1.',
    path: '/1k',
    connections: 8,
    streams: 8,
    body: SMALL_BODY,
    per: 'request',
  },
  {
    name: 'h2-tls',
    title: 'HTTP/2 over TLS',
    how: '8 connections with 8 requests each at a time, 1 KB from the backend, which is spoken to by HTTP/1.1.',
    path: '/1k',
    connections: 8,
    streams: 8,
    body: SMALL_BODY,
    tls: true,
    per: 'request',
  },
  {
    name: 'stream-rtt',
    title: 'TCP, small round trips',
    how: '64 connections over the stream module, a request and a response of 1 KB each round trip.',
    path: '/1k',
    connections: 64,
    body: SMALL_BODY,
    stream: true,
    per: 'request',
  },
  {
    name: 'stream-gb',
    title: 'TCP, large data',
    how: '8 connections over the stream module, 10 MB at a time.',
    path: '/10m',
    connections: 8,
    body: LARGE_BODY,
    stream: true,
    per: 'GiB',
  },
];

/** Throws if there is no such load, with the names of all. */
export function trafficNamed(option: string, name: string): Traffic {
  const traffic = traffics.find((candidate) => candidate.name === name);
  if (traffic === undefined) throw new Error(`${option} takes one of ${traffics.map((known) => known.name).join(', ')}, not "${name}"`);
  return traffic;
}

/** The site that it needs. */
export function trafficShape({ tls, streams, stream }: Traffic): SiteShape {
  return { tls: tls === true, http2: streams !== undefined, stream: stream === true };
}

/** Names of servers that cannot do it. */
export function serversWithout({ without = [], stream, path }: Traffic): readonly string[] {
  const isCached = path.startsWith(`${CACHE}/`) || path.startsWith(`${MEMORY}/`);
  if (stream !== true) return isCached ? without : [...without, 'varnish'];
  return existsSync(NGINX_STREAM_MODULE) ? ['nginx-sendfile', 'varnish'] : ['nginx-sendfile', 'nginx', 'varnish'];
}

/** Why this traffic cannot be made here. */
export function trafficObstacle(lab: Lab, traffic: Traffic): string | undefined {
  if (traffic.tls === true && lab.programs.openssl === undefined) return 'openssl is missing';
  if (traffic.handshakes !== undefined) return undefined;
  if (traffic.streams !== undefined) return lab.programs.h2load === undefined ? 'h2load is missing' : undefined;
  if (lab.programs.wrk === undefined) return 'wrk is missing';
  return traffic.needsTexts === true && lab.programs.nginx === undefined ? 'nginx is missing, the backend that has texts' : undefined;
}

/** Loads the site for some seconds. */
export async function drive(lab: Lab, traffic: Traffic, site: RunningSite, seconds: number): Promise<Load> {
  const shape: LoadShape = { url: site.origin + traffic.path, connections: traffic.connections, seconds, cores: lab.cores.load };
  if (traffic.handshakes !== undefined) return loadHandshakes(lab, { ...shape, isResumed: traffic.handshakes === 'resumed' });
  if (traffic.streams !== undefined) return loadHttp2(lab, { ...shape, streams: traffic.streams });
  const { headers, upload } = traffic;
  return load(lab, { ...shape, ...(headers !== undefined && { headers }), ...(upload !== undefined && { upload }) });
}

/** Requests, or GiB. */
export function workOf({ per, upload }: Traffic, { requests, bytes }: Load): number {
  if (per === 'request') return requests;
  return (upload === undefined ? bytes : requests * upload) / GIB;
}

/** Reasons why a load is worthless. Whole responses only: a server that sends less than the body works less. */
export function loadFaults(traffic: Traffic, result: Load): string[] {
  const isShort = result.bytes < result.requests * traffic.body;
  return [...result.faults, ...(isShort ? ['responses were shorter than the body'] : [])];
}

/** Reasons why the site cannot be compared with others. */
export async function siteFaults(traffic: Traffic, site: RunningSite): Promise<string[]> {
  if (traffic.tls !== true) return [];
  const cipher = await negotiatedCipher(site.port);
  return cipher === CIPHER ? [] : [`spoke ${cipher} instead of ${CIPHER}`];
}
