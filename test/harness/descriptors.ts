import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Descriptors that a process may have open. */
export interface DescriptorLimit {
  readonly soft: string;
  readonly hard: string;
}

export function descriptorLimit(pid: number): DescriptorLimit {
  const [, soft = '', hard = ''] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? [];
  return { soft, hard };
}

/** Sets the limit of a running process; the hard one stays. */
export function limitDescriptors(pid: number, soft: number | string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:${descriptorLimit(pid).hard}`]);
}

/** Number of descriptors that a process has open. */
export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
