import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DatagramReport } from '../datagram-client.js';
import type { Lab } from '../lab.js';
import { NGINX_STREAM_MODULE } from '../nginx-stream.js';
import { freePorts } from '../ports.js';
import type { Started } from '../processes.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import { runTime } from '../usage.js';

const CLIENTS = 16;
/** Datagrams that each client has under way. */
const AT_ONCE = 4;
const BYTES = 100;
/** A server is loaded for as long before the next one has its turn. */
const TURN_SECONDS = 2;
/** Of the sent ones: more, and the figures say something about the load alone. */
const MOST_LOST = 0.01;

interface Part extends DatagramReport {
  /** Seconds of processor time. */
  readonly cpu: number;
}

export const datagramScenario: Scenario = {
  name: 'udp',
  title: 'UDP',
  how: `${CLIENTS} clients with ${AT_ONCE} datagrams of ${BYTES} bytes each under way, which an echo sends back; one session for each client.`,
  columns: [
    { key: 'cpu', title: 'CPU per datagram and its response', unit: 'µs', digits: 1 },
    { key: 'rate', title: 'responses/s', unit: '', digits: 0 },
    { key: 'busy', title: 'core busy', unit: '%', digits: 0 },
  ],
  compared: 'cpu',
  sideBySide: true,
  without: ['haproxy', 'nginx-sendfile', ...(existsSync(NGINX_STREAM_MODULE) ? [] : ['nginx'])],
  obstacle: () => undefined,
  measure: async (lab, server, faults, turns) => {
    const [port = 0] = await freePorts(1);
    const echo = await start(lab, 'datagram-echo.js', [port], lab.cores.backend);
    try {
      return await withSite(lab, server, { echo: port }, faults, async (site) => {
        const client = await start(lab, 'datagram-client.js', [site.datagramPort, CLIENTS, AT_ONCE, BYTES], lab.cores.load);
        try {
          await turns.take(() => drive(client, site, lab.pace.warmUpSeconds));
          const parts: Part[] = [];
          for (let measured = 0; measured < lab.pace.seconds; measured += TURN_SECONDS)
            parts.push(await turns.take(() => drive(client, site, TURN_SECONDS)));
          return figures(parts, faults);
        } finally {
          await lab.processes.stop(client, 'SIGKILL');
        }
      });
    } finally {
      await lab.processes.stop(echo, 'SIGKILL');
    }
  },
};

/** Starts a program of the benchmark, and waits until it says that it is ready. */
async function start(lab: Lab, program: string, args: readonly number[], cores: readonly number[]): Promise<Started> {
  const path = fileURLToPath(new URL(`../${program}`, import.meta.url));
  const started = lab.processes.start([process.execPath, path, ...args.map(String)], { cores, ipc: true });
  await once(started.child, 'message');
  return started;
}

async function drive(client: Started, site: RunningSite, seconds: number): Promise<Part> {
  const before = runTime(site.process.pid);
  client.child.send(seconds);
  const [report] = (await once(client.child, 'message')) as [DatagramReport];
  return { ...report, cpu: runTime(site.process.pid) - before };
}

function figures(parts: readonly Part[], faults: string[]): Figures {
  const sum = (of: (part: Part) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const [echoes, lost, cpu] = [sum((part) => part.echoes), sum((part) => part.lost), sum((part) => part.cpu)];
  if (echoes === 0) faults.push('not one datagram came back');
  if (lost > echoes * MOST_LOST) faults.push(`${lost} of ${echoes + lost} datagrams were lost`);
  const seconds = parts.length * TURN_SECONDS;
  return { cpu: (cpu * 1e6) / echoes, rate: echoes / seconds, busy: (cpu / seconds) * 100 };
}
