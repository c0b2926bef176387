import { chmodSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Certificate, createCertificate } from './certificate.js';
import { type CorePlan, planCores, usableCores } from './cores.js';
import { Processes } from './processes.js';
import type { Programs } from './programs.js';

/** How long and how much is measured. */
export interface Pace {
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly idleConnections: number;
  /** Seconds that a server is left alone before its memory is read. */
  readonly restSeconds: number;
  readonly starts: number;
  readonly memberAdds: number;
  /** Members that health checks are made of. */
  readonly checkedMembers: number;
  /** Changes of each kind. */
  readonly changes: number;
  /** Seconds of changes at a fixed rate. */
  readonly changeSeconds: number;
  /** Additions and removals after which memory is compared. */
  readonly cycles: number;
  /** Pairs, and keys of a zone, of several nodes. */
  readonly clusterKeys: number;
}

export const fullPace: Pace = {
  warmUpSeconds: 2,
  seconds: 6,
  idleConnections: 10_000,
  restSeconds: 2,
  starts: 3,
  memberAdds: 500,
  checkedMembers: 10_000,
  changes: 50,
  changeSeconds: 60,
  cycles: 100_000,
  clusterKeys: 100_000,
};

export const quickPace: Pace = {
  warmUpSeconds: 1,
  seconds: 1,
  idleConnections: 500,
  restSeconds: 0.5,
  starts: 1,
  memberAdds: 20,
  checkedMembers: 1000,
  changes: 10,
  changeSeconds: 3,
  cycles: 2000,
  clusterKeys: 2000,
};

/** Surroundings of every measurement: a temporary folder, the programs, cores, and the processes it started. */
export class Lab {
  readonly processes: Processes;
  readonly cores: CorePlan;
  readonly programs: Programs;
  readonly pace: Pace;
  readonly dir: string;
  #certificate: Promise<Certificate> | undefined;
  #folders = 0;

  /** @param parent folder in which the temporary one is made */
  constructor(programs: Programs, pace: Pace, parent: string) {
    this.programs = programs;
    this.pace = pace;
    this.processes = new Processes(programs.taskset?.path);
    this.cores = planCores(usableCores());
    this.dir = mkdtempSync(join(parent, 'srv-bench-'));
    chmodSync(this.dir, 0o755); // a server that is started by root reads its files as another user
  }

  /** A new folder with these files. */
  folder(files: Readonly<Record<string, string>>): string {
    const dir = join(this.dir, String(this.#folders++));
    mkdirSync(dir);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, name)), { recursive: true });
      writeFileSync(join(dir, name), text);
    }
    return dir;
  }

  /** The certificate that all servers of the run share. Throws when openssl is missing. */
  async certificate(): Promise<Certificate> {
    if (this.programs.openssl === undefined) throw new Error('openssl is missing');
    this.#certificate ??= createCertificate(this.processes, this.programs.openssl.path, this.dir);
    return this.#certificate;
  }

  /** Moves the benchmark itself to the cores of the load, away from the server under test. */
  async moveAside(): Promise<void> {
    if (this.programs.taskset === undefined) return;
    await this.processes.run([this.programs.taskset.path, '-apc', this.cores.load.join(','), String(process.pid)]);
  }

  /** Ends every process and removes the folder. Synchronous, so that it can run while the benchmark exits. */
  close(): void {
    this.processes.killAll();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
