import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import type { Programs } from './programs.js';

/** The machine of the figures, without host name and paths. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memory: string;
  readonly kernel: string;
  readonly fileSystem: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Load average over one minute before the run. Above some tenths the machine was not ours alone. */
  readonly loadBefore: number;
  /** Cores that share their execution units with another of the list (SMT), so that a neighbour slows them down. */
  readonly sharedCores: boolean;
}

/**
 * @param cores that the benchmark may use
 * @param dir where the journal and the sockets of the servers will live: its file system decides what a flush to disk costs
 */
export function describeMachine(programs: Programs, cores: readonly number[], dir: string): Machine {
  const versions: Record<string, string> = { node: process.version.slice(1) };
  for (const name of ['nginx', 'haproxy', 'wrk', 'h2load', 'openssl', 'redis-server'] as const)
    versions[name] = programs[name]?.version ?? 'missing';
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: `${type()} ${/^\d+\.\d+/.exec(release())?.[0] ?? release()}`,
    fileSystem: fileSystemName(statfsSync(dir).type),
    versions,
    loadBefore: loadavg()[0] ?? 0,
    sharedCores: cores.some((core) => siblings(core).length > 1),
  };
}

/** Numbers of statfs(2). */
function fileSystemName(magic: number): string {
  const names = new Map([
    [0xef53, 'ext4'],
    [0x01021994, 'tmpfs'],
    [0x794c7630, 'overlayfs'],
    [0x58465342, 'xfs'],
    [0x9123683e, 'btrfs'],
  ]);
  return names.get(magic) ?? `type 0x${magic.toString(16)}`;
}

function siblings(core: number): string[] {
  const path = `/sys/devices/system/cpu/cpu${core}/topology/thread_siblings_list`;
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split(/[,-]/) : [];
}
