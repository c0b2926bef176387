import { HttpClient } from '../http-probe.js';
import type { Lab } from '../lab.js';
import { freePorts } from '../ports.js';
import { type RunningSite, withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { percentile } from '../statistics.js';
import { GROUP, membersConfig } from './members-config.js';

const WORKERS = 2;

/** Connections through which an added member is looked for. With this many, each worker has one of them almost for certain. */
const WITNESSES = 8;

/** With it a new member is chosen before those of weight 1 by smooth weighted round robin. */
const NEW_WEIGHT = 65_535;

const FEW = 10;
const MANY = 100_000;

/** Milliseconds. */
interface Add {
  readonly answered: number;
  /** Until the last witness got a response from the new member. */
  readonly seen: number;
}

interface Adding {
  readonly adds: readonly Add[];
  /** Milliseconds from the start of the server to its first response. */
  readonly start: number;
}

export const membersScenario: Scenario = {
  name: 'members',
  title: 'Adding a member',
  how:
    `POST to the API of srv with ${WORKERS} workers, one after the other on one keep-alive connection. After every response the API must show the ` +
    `member, and requests on ${WITNESSES} connections must reach it at once; then it is set down, so that the next one is seen. ` +
    '"In use" is the time until the last response to these requests. The processes run on all cores but those of the load.',
  columns: [
    { key: 'smallP50', title: '10 members: p50', unit: 'ms', digits: 2 },
    { key: 'smallP99', title: 'p99', unit: 'ms', digits: 2 },
    { key: 'smallSeen', title: 'in use p99', unit: 'ms', digits: 2 },
    { key: 'largeP50', title: '100,000 members: p50', unit: 'ms', digits: 2 },
    { key: 'largeP99', title: 'p99', unit: 'ms', digits: 2 },
    { key: 'largeSeen', title: 'in use p99', unit: 'ms', digits: 2 },
    { key: 'growth', title: 'p50 large / small', unit: '×', digits: 2 },
    { key: 'largeStart', title: 'start-up with 100,000', unit: 'ms', digits: 0 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: async (lab, server, faults) => {
    const small = await addMembers(lab, server, FEW, faults);
    const large = await addMembers(lab, server, MANY, faults);
    return { ...figures('small', small), ...figures('large', large), growth: p50(large.adds) / p50(small.adds) };
  },
};

function figures(size: 'small' | 'large', { adds, start }: Adding): Figures {
  const answered = adds.map((add) => add.answered);
  const seen = adds.map((add) => add.seen);
  return {
    [`${size}P50`]: p50(adds),
    [`${size}P99`]: percentile(answered, 0.99),
    [`${size}Seen`]: percentile(seen, 0.99),
    [`${size}Start`]: start,
  };
}

function p50(adds: readonly Add[]): number {
  return percentile(
    adds.map((add) => add.answered),
    0.5,
  );
}

async function addMembers(lab: Lab, server: ServerKind, members: number, faults: string[]): Promise<Adding> {
  const [apiPort = 0] = await freePorts(1);
  const kind = { ...server, files: (site: Parameters<ServerKind['files']>[0]) => membersConfig(site, apiPort, members) };
  const addresses = Array.from({ length: lab.pace.memberAdds }, (_, index) => `127.1.${index >> 8}.${index & 255}`);
  const others = lab.cores.all.filter((core) => !lab.cores.load.includes(core));
  const cores = { ...lab.cores, server: others.length > 0 ? others : lab.cores.all };
  return withSite(lab, kind, { workers: WORKERS, addresses: ['127.0.0.1', ...addresses], cores }, faults, async (site) => {
    const group = new GroupClient(site, apiPort);
    try {
      await group.answers();
      const adds: Add[] = [];
      for (const address of addresses) adds.push(await group.add(address, faults));
      return { adds, start: site.answeredAt - site.spawnedAt };
    } finally {
      group.close();
    }
  });
}

/** Adds members to the group and looks whether they get requests. */
class GroupClient {
  readonly #api: HttpClient;
  readonly #witnesses: readonly HttpClient[];
  readonly #backend: number;
  readonly #path = `/api/v1/upstream_api/http/upstreams/${GROUP}/servers/`;

  constructor(site: RunningSite, apiPort: number) {
    this.#api = new HttpClient(apiPort);
    this.#witnesses = Array.from({ length: WITNESSES }, () => new HttpClient(site.port));
    this.#backend = site.backend;
  }

  /** Waits until the control plane responds, which starts after the traffic. */
  async answers(): Promise<void> {
    const deadline = performance.now() + 30_000;
    for (;;) {
      const status = await this.#api.send('OPTIONS', this.#path).then(
        (answer) => answer.status,
        () => 0,
      );
      if (status >= 200 && status < 300) return;
      if (performance.now() > deadline) throw new Error(`the API does not respond (status ${status})`);
    }
  }

  /** Adds one member, sees it work, and sets it down. Throws when the API rejects. */
  async add(address: string, faults: string[]): Promise<Add> {
    const server = `${address}:${this.#backend}`;
    const start = performance.now();
    const created = await this.#api.send('POST', this.#path, { server, weight: NEW_WEIGHT });
    const answered = performance.now() - start;
    if (created.status !== 201) throw new Error(`adding a member: status ${created.status} ${created.text.slice(0, 200)}`);
    const replies = await Promise.all(this.#witnesses.map((witness) => witness.send('GET', '/address')));
    const seen = performance.now() - start;
    const reached = replies.filter((reply) => reply.text === address).length;
    if (reached < WITNESSES) faults.push(`${address}: ${WITNESSES - reached} of ${WITNESSES} requests did not reach the new member`);

    const { id } = JSON.parse(created.text) as { id: number };
    const shown = await this.#api.send('GET', `${this.#path}${id}`);
    if (shown.status !== 200 || (JSON.parse(shown.text) as { server: string }).server !== server) {
      faults.push(`${address}: the API does not show the member`);
    }
    const down = await this.#api.send('PATCH', `${this.#path}${id}`, { down: true });
    if (down.status !== 200) throw new Error(`setting a member down: status ${down.status}`);
    return { answered, seen };
  }

  close(): void {
    for (const client of [this.#api, ...this.#witnesses]) client.close();
  }
}
