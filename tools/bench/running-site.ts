import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Backend, LARGE_BODY, SMALL_BODY, startBackend } from './backend.js';
import type { CorePlan } from './cores.js';
import { answers } from './http-probe.js';
import type { Lab } from './lab.js';
import { freePorts } from './ports.js';
import type { Started } from './processes.js';
import type { ServerKind } from './servers.js';
import type { Site } from './site.js';

export interface SiteShape {
  readonly workers?: number;
  readonly tls?: boolean;
  readonly http2?: boolean;
  /** See {@link Site.stream}. */
  readonly stream?: boolean;
  /** Instead of the plan of the lab. */
  readonly cores?: CorePlan;
  /** Addresses of the loopback interface that the backend listens on; 127.0.0.1 is one of them. */
  readonly addresses?: readonly string[];
  /** Port of an echo of datagrams: the site has a port for datagrams that it passes there. */
  readonly echo?: number;
}

/** A server under test that responds, with its backend. */
export interface RunningSite {
  readonly port: number;
  readonly backend: number;
  /** The one for datagrams; 0: it has none. */
  readonly datagramPort: number;
  /** `http://127.0.0.1:PORT` or `https://…`. */
  readonly origin: string;
  readonly process: Started;
  /** Its folder. */
  readonly dir: string;
  /** When it was started, and when its first response arrived, on the clock of performance.now(). The latter only without TLS. */
  readonly spawnedAt: number;
  readonly answeredAt: number;
}

/**
 * Starts a backend and the server in front of it, runs the measurement, and ends both, whatever happens. Faults that the server
 * leaves behind (lines in its error log, processes that outlive it) are added to `faults`.
 */
export async function withSite<T>(
  lab: Lab,
  server: ServerKind,
  shape: SiteShape,
  faults: string[],
  measure: (site: RunningSite) => Promise<T>,
): Promise<T> {
  const cores = shape.cores ?? lab.cores;
  const backend = await startBackend(lab, {
    cores: cores.backend,
    workers: shape.workers ?? 1,
    addresses: shape.addresses ?? ['127.0.0.1'],
  });
  try {
    const site = await describeSite(lab, backend, shape);
    const dir = lab.folder(server.files(site));
    const spawnedAt = performance.now();
    const process = lab.processes.start(server.command(dir, site), { cores: cores.server });
    try {
      // A port that accepts connections says little: one that starts may bind it for a moment to see whether it is free.
      const answeredAt = await answers(
        { port: site.port, path: '/1k', secure: site.certificate !== undefined, http2: site.http2 === true },
        process,
      );
      const origin = `${site.certificate ? 'https' : 'http'}://127.0.0.1:${site.port}`;
      return await measure({
        port: site.port,
        backend: backend.port,
        datagramPort: site.datagrams?.port ?? 0,
        origin,
        process,
        dir,
        spawnedAt,
        answeredAt,
      });
    } finally {
      const left = await lab.processes.stop(process, server.quit);
      if (left > 0) faults.push(`${left} of its processes outlived it`);
      faults.push(...loggedErrors(dir));
    }
  } finally {
    await lab.processes.stop(backend.process);
  }
}

async function describeSite(lab: Lab, backend: Backend, shape: SiteShape): Promise<Site> {
  const [port = 0, datagramPort = 0] = await freePorts(2);
  const site = {
    port,
    backend: backend.port,
    backendHttp2: backend.http2Port,
    workers: shape.workers ?? 1,
    files: filesOf(lab),
    http2: shape.http2 === true,
    ...(shape.echo !== undefined && { datagrams: { port: datagramPort, backend: shape.echo } }),
    stream: shape.stream === true,
  };
  return shape.tls === true ? { ...site, certificate: await lab.certificate() } : site;
}

/** The folder of files for all servers, made by the first. */
function filesOf(lab: Lab): string {
  const folder = join(lab.dir, 'files');
  if (existsSync(folder)) return folder;
  mkdirSync(folder);
  writeFileSync(join(folder, '1k'), Buffer.alloc(SMALL_BODY, 'x'));
  writeFileSync(join(folder, '10m'), Buffer.alloc(LARGE_BODY, 'x'));
  return folder;
}

/** The first lines of level error or worse. */
function loggedErrors(dir: string): string[] {
  let log = '';
  try {
    log = readFileSync(join(dir, 'error.log'), 'utf8');
  } catch {
    return []; // haproxy writes none
  }
  return log
    .split('\n')
    .filter((line) => /\[(error|crit|alert|emerg)\]/.test(line))
    .slice(0, 2)
    .map((line) => `error log: ${line.slice(0, 200)}`);
}
