import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '../http-probe.js';
import type { Lab } from '../lab.js';
import { load } from '../load.js';
import { PacedLoad } from '../paced-load.js';
import { freePorts } from '../ports.js';
import { withSite } from '../running-site.js';
import type { Figures, Scenario } from '../scenario.js';
import type { ServerKind } from '../servers.js';
import { percentile } from '../statistics.js';
import { runTime } from '../usage.js';
import { changeKinds, type ChangeCall } from './change-calls.js';
import { apiReady, SMALL } from './changes.js';
import { changesConfig } from './changes-config.js';

const WORKERS = 2;
/** Connections of the traffic. */
const CONNECTIONS = 64;
/** Changes a second, a little more than the goal: a client that is late by a moment has not missed it. */
const RATE = 1010;
/** Connections that changes come over. */
const CALLERS = 64;
/** Of what the server can do. */
const LOAD_SHARE = 0.5;

interface Changes {
  readonly milliseconds: readonly number[];
  readonly seconds: number;
  readonly failures: readonly string[];
}

export const changeRateScenario: Scenario = {
  name: 'change-rate',
  title: 'A thousand changes a second under load',
  how:
    `srv with ${WORKERS} workers carries half of the requests that it could. After a time without any change members, upstreams, locations and servers are ` +
    `added, changed and removed over ${CALLERS} connections to the API, a thousand times a second. The traffic has its p99 in both times.`,
  columns: [
    { key: 'traffic', title: 'traffic', unit: 'requests/s', digits: 0 },
    { key: 'rate', title: 'changes', unit: '1/s', digits: 0 },
    { key: 'changeCpu', title: 'CPU per change', unit: 'ms', digits: 2 },
    { key: 'changeP50', title: 'change p50', unit: 'ms', digits: 2 },
    { key: 'changeP99', title: 'p99', unit: 'ms', digits: 2 },
    { key: 'quietP99', title: 'traffic p99 without changes', unit: 'ms', digits: 2 },
    { key: 'changingP99', title: 'with changes', unit: 'ms', digits: 2 },
    { key: 'ratio', title: 'with / without', unit: '×', digits: 2 },
  ],
  oursOnly: true,
  obstacle: (lab) => (lab.programs.wrk === undefined ? 'wrk is missing' : undefined),
  measure,
};

async function measure(lab: Lab, server: ServerKind, faults: string[]): Promise<Figures> {
  const [apiPort = 0] = await freePorts(1);
  const kind = { ...server, files: (site: Parameters<ServerKind['files']>[0]) => changesConfig(site, apiPort, SMALL) };
  return withSite(lab, kind, { workers: WORKERS, cores: { ...lab.cores, server: lab.cores.all } }, faults, async (site) => {
    const { pid } = site.process;
    const callers = Array.from({ length: CALLERS }, (_, at) => new Caller(apiPort, site.port, at));
    const most = await load(lab, {
      url: `${site.origin}/1k`,
      connections: CONNECTIONS,
      seconds: lab.pace.warmUpSeconds,
      cores: lab.cores.load,
    });
    const rate = Math.round((most.requests / most.seconds) * LOAD_SHARE);
    const traffic = new PacedLoad(lab, site.port, rate, CONNECTIONS);
    try {
      await apiReady(new HttpClient(apiPort));
      await changesFor(callers, lab.pace.warmUpSeconds);
      const seconds = lab.pace.changeSeconds;
      const quiet = await measured(pid, () => traffic.run(seconds));
      const changing = await measured(pid, () => Promise.all([traffic.run(seconds), changesFor(callers, seconds)]));
      const [during, changes] = changing.result;
      for (const { failed } of [quiet.result, during]) if (failed > 0) faults.push(`${failed} connections failed`);
      faults.push(...changes.failures.slice(0, 3));
      const { milliseconds } = changes;
      return {
        traffic: rate,
        rate: milliseconds.length / changes.seconds,
        changeCpu: ((changing.cpu - quiet.cpu) / milliseconds.length) * 1000,
        changeP50: percentile(milliseconds, 0.5),
        changeP99: percentile(milliseconds, 0.99),
        quietP99: quiet.result.p99,
        changingP99: during.p99,
        ratio: during.p99 / quiet.result.p99,
      };
    } finally {
      for (const caller of callers) caller.close();
      await traffic.stop();
    }
  });
}

/** @returns with the seconds of processor time that the server took meanwhile */
async function measured<T>(pid: number, step: () => Promise<T>): Promise<{ readonly result: T; readonly cpu: number }> {
  const before = runTime(pid);
  const result = await step();
  return { result, cpu: runTime(pid) - before };
}

/**
 * Makes changes at the rate; where all callers still wait for a response, the next change is late, and takes as much longer. Changes that
 * cannot be sent in time are left out.
 */
async function changesFor(callers: readonly Caller[], seconds: number): Promise<Changes> {
  const milliseconds: number[] = [];
  const failures: string[] = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  const due = Array.from({ length: Math.round(RATE * seconds) }, (_, at) => start + (at * 1000) / RATE).values();
  const work = async (caller: Caller): Promise<void> => {
    for (const moment of due) {
      if (performance.now() > end) return;
      const early = moment - performance.now();
      if (early > 0) await (early > 1 ? delay(early) : immediate());
      const failure = await caller.change();
      if (failure === undefined) milliseconds.push(performance.now() - moment);
      else failures.push(failure);
    }
  };
  await Promise.all(callers.map(work));
  return { milliseconds, failures, seconds: (performance.now() - start) / 1000 };
}

/** One connection to the API: makes one change after the other, of all kinds in turn. */
class Caller {
  readonly #api: HttpClient;
  readonly #calls: Generator<ChangeCall>;

  constructor(apiPort: number, port: number, at: number) {
    this.#api = new HttpClient(apiPort);
    this.#calls = callsOf(port, at);
  }

  /** @returns why it was rejected */
  async change(): Promise<string | undefined> {
    const { method, path, body } = this.#calls.next().value as ChangeCall;
    const { status, text } = await this.#api.send(method, `/api/v1${path}`, body);
    return status < 300 ? undefined : `${method} ${path}: status ${status} ${text.slice(0, 200)}`;
  }

  close(): void {
    this.#api.close();
  }
}

function* callsOf(port: number, at: number): Generator<ChangeCall> {
  const kinds = changeKinds(port, `r${at}x`, at);
  for (let index = 0; ; index++) for (const { call } of kinds) yield call(index % 100);
}
