import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Lab } from './lab.js';
import type { PacedReport } from './paced-client.js';
import type { Started } from './processes.js';

/** Requests at a fixed rate, from a process of their own. */
export class PacedLoad {
  readonly #client: Started;

  constructor(
    private readonly lab: Lab,
    port: number,
    rate: number,
    connections: number,
  ) {
    const program = fileURLToPath(new URL('./paced-client.js', import.meta.url));
    const args = [port, rate, connections].map(String);
    this.#client = lab.processes.start([process.execPath, program, ...args], { cores: lab.cores.load, ipc: true });
  }

  async run(seconds: number): Promise<PacedReport> {
    this.#client.child.send(seconds);
    const [report] = (await once(this.#client.child, 'message')) as [PacedReport];
    return report;
  }

  async stop(): Promise<void> {
    await this.lab.processes.stop(this.#client, 'SIGKILL');
  }
}
