import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A program of the system that the benchmark uses. */
interface Program {
  /** How it prints its version; the first match of the pattern is taken. */
  readonly version: readonly string[];
  readonly pattern: RegExp;
  /** Debian's package. */
  readonly package: string;
  /** Measurements that need it. */
  readonly without: string;
}

const programs = {
  wrk: {
    version: ['-v'],
    pattern: /wrk \S*?(\d[\w.-]*)/,
    package: 'wrk',
    without: 'no measurement under load (1k, 10m, conn, tls, workers)',
  },
  h2load: { version: ['--version'], pattern: /nghttp2\/(\S+)/, package: 'nghttp2-client', without: 'no measurement of HTTP/2 (h2)' },
  nginx: { version: ['-v'], pattern: /nginx\/(\S+)/, package: 'nginx', without: 'no ratios; a backend in Node takes its place' },
  haproxy: { version: ['-v'], pattern: /version (\S+)/, package: 'haproxy', without: 'nginx is the only peer' },
  varnishd: { version: ['-V'], pattern: /varnish-(\d[\w.-]*)/, package: 'varnish', without: 'no caches beside those of nginx' },
  openssl: { version: ['version'], pattern: /OpenSSL (\S+)/, package: 'openssl', without: 'no certificate, so no TLS measurement' },
  'redis-server': {
    version: ['--version'],
    pattern: /v=(\S+)/,
    package: 'redis-server',
    without: 'no measurement of several nodes (cluster-pairs, cluster-join, cluster-zones, cluster-rate)',
  },
  taskset: {
    version: ['--version'],
    pattern: /linux ([\d.]+)/,
    package: 'util-linux',
    without: 'nothing is bound to cores, figures are noisier',
  },
} satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;

export interface FoundProgram {
  readonly path: string;
  readonly version: string;
}

export type Programs = Readonly<Record<ProgramName, FoundProgram | undefined>>;

/** Looks for the programs in PATH and in the folders for system programs, which a user's PATH may lack. */
export function findPrograms(): Programs {
  return {
    wrk: find('wrk'),
    h2load: find('h2load'),
    nginx: find('nginx'),
    haproxy: find('haproxy'),
    varnishd: find('varnishd'),
    openssl: find('openssl'),
    'redis-server': find('redis-server'),
    taskset: find('taskset'),
  };
}

/** One line for each missing program: lost measurements, and how to get it. */
export function describeMissing(found: Programs): string[] {
  return missing(found).map((name) => `${name} is missing: ${programs[name].without} (Debian: apt-get install ${programs[name].package})`);
}

/** Installs what is missing from Debian's packages. Throws when the system is not Debian, the user is not root, or apt-get fails. */
export function installMissing(found: Programs): void {
  const packages = missing(found).map((name) => programs[name].package);
  if (packages.length === 0) return;
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) throw new Error('--install needs Debian and root');
  const apt = spawnSync('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { stdio: 'inherit' });
  if (apt.status !== 0) throw new Error(`apt-get could not install ${packages.join(' ')}`);
}

function missing(found: Programs): ProgramName[] {
  return (Object.keys(programs) as ProgramName[]).filter((name) => found[name] === undefined);
}

function find(name: ProgramName): FoundProgram | undefined {
  const path = findPath(name);
  return path === undefined ? undefined : { path, version: readVersion(path, programs[name]) };
}

function findPath(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readVersion(path: string, program: Program): string {
  const { stdout, stderr } = spawnSync(path, program.version, { encoding: 'utf8' });
  return program.pattern.exec(`${stdout}${stderr}`)?.[1] ?? 'unknown';
}
