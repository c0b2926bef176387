import { existsSync } from 'node:fs';
import { LARGE_BODY, SMALL_BODY } from '../backend.js';
import { negotiatedCipher } from '../certificate.js';
import type { Lab } from '../lab.js';
import { loadHttp2 } from '../h2load.js';
import { NGINX_STREAM_MODULE } from '../nginx-stream.js';
import { type Load, load, type LoadShape } from '../load.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Column, Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { CACHED_FILES, FILES, OVER_HTTP2 } from '../site.js';
import { median } from '../statistics.js';
import type { Turns } from '../turns.js';
import { cpuSince, cpuTime } from '../usage.js';

/** The same cipher for every server, or the comparison is one of ciphers. It is what OpenSSL prefers on both sides. */
const CIPHER = 'TLSv1.3 TLS_AES_256_GCM_SHA384';

const GIB = 2 ** 30;

/** A server is loaded for as long before the next one has its turn. */
const TURN_SECONDS = 2;

/** One turn. */
interface Part {
  readonly load: Load;
  /** Seconds of processor time. */
  readonly cpu: number;
}

/** Requests of wrk, or h2load. */
export interface Traffic {
  readonly name: string;
  readonly title: string;
  readonly how: string;
  readonly path: string;
  readonly connections: number;
  /** Bytes of a whole response body. */
  readonly body: number;
  readonly headers?: readonly string[];
  readonly tls?: boolean;
  /** It is a file of the server: haproxy serves none. */
  readonly isFile?: boolean;
  /** HTTP/2 without TLS, with as many requests at once on each connection. */
  readonly streams?: number;
  /** The connections are passed on by the stream module. */
  readonly stream?: boolean;
  /** Processor time is divided by requests or by bytes. */
  readonly per: 'request' | 'GiB';
}

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
  {
    name: 'static-1k',
    title: 'File of 1 KB, keep-alive',
    how: '64 connections; everything about files as by default: no sendfile, no open_file_cache.',
    path: `${FILES}1k`,
    connections: 64,
    body: SMALL_BODY,
    isFile: true,
    per: 'request',
  },
  {
    name: 'cached-1k',
    title: 'File of 1 KB with open_file_cache',
    how: '64 connections, `open_file_cache max=1000`.',
    path: `${CACHED_FILES}1k`,
    connections: 64,
    body: SMALL_BODY,
    isFile: true,
    per: 'request',
  },
  {
    name: 'static-10m',
    title: 'File of 10 MB',
    how: '8 connections; everything about files as by default: no sendfile, no open_file_cache.',
    path: `${FILES}10m`,
    connections: 8,
    body: LARGE_BODY,
    isFile: true,
    per: 'GiB',
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

export const throughputScenarios: readonly Scenario[] = traffics.map((traffic) => ({
  name: traffic.name,
  title: traffic.title,
  how: traffic.how,
  columns: columns(traffic),
  compared: 'cpu',
  without: serversWithout(traffic),
  obstacle: (lab: Lab): string | undefined => trafficObstacle(lab, traffic),
  sideBySide: true,
  measure: (lab: Lab, server: ServerKind, faults: string[], turns: Turns): Promise<Figures> =>
    withSite(
      lab,
      server,
      { tls: traffic.tls === true, http2: traffic.streams !== undefined, stream: traffic.stream === true },
      faults,
      async (site) => {
        if (traffic.tls === true) faults.push(...(await cipherFaults(site)));
        await turns.take(() => drive(lab, traffic, site, lab.pace.warmUpSeconds));
        const parts: Part[] = [];
        for (let measured = 0; measured < lab.pace.seconds; measured += TURN_SECONDS) {
          parts.push(await turns.take(() => measurePart(lab, traffic, site)));
        }
        for (const { load } of parts) faults.push(...load.faults, ...shortResponses(traffic, load));
        return figures(traffic, parts);
      },
    ),
}));

/** Why this traffic cannot be made here. */
export function trafficObstacle(lab: Lab, traffic: Traffic): string | undefined {
  if (traffic.streams !== undefined) return lab.programs.h2load === undefined ? 'h2load is missing' : undefined;
  if (lab.programs.wrk === undefined) return 'wrk is missing';
  return traffic.tls === true && lab.programs.openssl === undefined ? 'openssl is missing' : undefined;
}

/** Loads the site for some seconds. */
export async function drive(lab: Lab, traffic: Traffic, site: RunningSite, seconds: number): Promise<Load> {
  const shape: LoadShape = { url: site.origin + traffic.path, connections: traffic.connections, seconds, cores: lab.cores.load };
  if (traffic.streams !== undefined) return loadHttp2(lab, { ...shape, streams: traffic.streams });
  return load(lab, traffic.headers === undefined ? shape : { ...shape, headers: traffic.headers });
}

function columns(traffic: Traffic): Column[] {
  const busy = { key: 'busy', title: 'core busy', unit: '%', digits: 0 };
  if (traffic.per === 'GiB') {
    return [{ key: 'cpu', title: 'CPU per GiB', unit: 's', digits: 2 }, { key: 'rate', title: 'GiB/s', unit: '', digits: 2 }, busy];
  }
  return [
    { key: 'cpu', title: 'CPU per request', unit: 'µs', digits: 1 },
    { key: 'rate', title: 'requests/s', unit: '', digits: 0 },
    // h2load reports none.
    ...(traffic.streams === undefined ? [{ key: 'p99', title: 'p99', unit: 'ms', digits: 2 }] : []),
    busy,
  ];
}

async function measurePart(lab: Lab, traffic: Traffic, site: RunningSite): Promise<Part> {
  const before = cpuTime(site.process.pid);
  const result = await drive(lab, traffic, site, TURN_SECONDS);
  return { load: result, cpu: cpuSince(before, site.process.pid) };
}

function figures(traffic: Traffic, parts: readonly Part[]): Figures {
  const sum = (of: (part: Part) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const cpu = sum((part) => part.cpu);
  const seconds = sum(({ load: { seconds } }) => seconds);
  const busy = (cpu / seconds) * 100;
  if (traffic.per === 'GiB') {
    const volume = sum(({ load: { bytes } }) => bytes) / GIB;
    return { cpu: cpu / volume, rate: volume / seconds, busy };
  }
  const requests = sum(({ load }) => load.requests);
  return { cpu: (cpu * 1e6) / requests, rate: requests / seconds, p99: median(parts.map(({ load: { p99 } }) => p99)), busy };
}

/** Whole responses only: a server that sends less than the body works less. */
function shortResponses(traffic: Traffic, result: Load): string[] {
  return result.bytes < result.requests * traffic.body ? ['answers were shorter than the body'] : [];
}

async function cipherFaults(site: RunningSite): Promise<string[]> {
  const cipher = await negotiatedCipher(site.port);
  return cipher === CIPHER ? [] : [`spoke ${cipher} instead of ${CIPHER}`];
}

function serversWithout({ isFile, stream }: Traffic): readonly string[] {
  if (isFile === true) return ['haproxy'];
  if (stream !== true) return [];
  return existsSync(NGINX_STREAM_MODULE) ? ['nginx-sendfile'] : ['nginx-sendfile', 'nginx'];
}
