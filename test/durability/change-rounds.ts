/** Rounds of all kinds of changes that end with a kill of one process at a random moment. After each everything is compared. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonResponse } from '../harness/client.js';
import type { Node } from '../control/node.js';
import { waitFor } from '../harness/wait.js';
import { ChangeLedger } from './change-ledger.js';
import { KINDS, type CarriedCall } from './change-kinds.js';

const WRITERS = 2;
/** Things of each kind and writer: few, so that they come and go often. */
const THINGS = 3;
const VICTIMS = ['data plane', 'ctrl', 'broker'] as const;

export interface RoundFigures {
  rounds: number;
  answered: number;
  /** Calls whose outcome was unknown when they ended. */
  cut: number;
  readonly kinds: Record<string, number>;
  readonly victims: Record<string, number>;
}

export interface RoundOptions {
  readonly rounds: number;
  /** Milliseconds of changes in front of a kill, at most. */
  readonly roundTime: number;
  /** Kills the data plane. */
  readonly kill: () => void;
  /** Starts the server again in its place, on its files as they are. */
  readonly restart: () => Promise<void>;
}

const random = (below: number): number => Math.floor(Math.random() * below);

export class ChangeRounds {
  readonly figures: RoundFigures = { rounds: 0, answered: 0, cut: 0, kinds: {}, victims: {} };
  readonly #ledger = new ChangeLedger();
  #content = 0;
  #over = false;

  constructor(
    private readonly node: Node,
    private readonly options: RoundOptions,
  ) {}

  /** @throws Error that says what was lost */
  async play(): Promise<void> {
    for (let round = 0; round < this.options.rounds; round++) {
      const victim = VICTIMS[round % VICTIMS.length] ?? 'data plane';
      try {
        await this.#round(victim);
      } catch (error) {
        throw new Error(`round ${round + 1}, ${victim} killed: ${(error as Error).message}`, { cause: error });
      }
      this.figures.rounds++;
      count(this.figures.victims, victim);
    }
  }

  async #round(victim: (typeof VICTIMS)[number]): Promise<void> {
    this.#over = false;
    const writers = Array.from({ length: WRITERS }, (_, writer) => this.#write(writer));
    await sleep(Math.random() * this.options.roundTime);
    if (victim === 'data plane') {
      this.options.kill();
      this.#over = true;
      await Promise.all([...writers, this.options.restart()]);
    } else {
      const pid = this.node.helper(victim);
      process.kill(pid, 'SIGKILL');
      await waitFor('another helper', () => this.node.helper(victim) !== pid);
      this.#over = true;
      await Promise.all(writers);
    }
    await this.node.ready();
    // The master may still work at a call whose caller is gone.
    await waitFor('an end of all changes', async () => (await this.#version()) === (await sleep(20).then(() => this.#version())));
    this.#ledger.check(await this.#state());
  }

  async #version(): Promise<unknown> {
    return (await this.node.call('GET', '/config/drift')).headers['etag'];
  }

  async #state(): Promise<ReadonlyMap<string, string>> {
    const all = await Promise.all(
      Array.from(KINDS, async ([kind, things]) =>
        (await things.list(this.node)).map(([name, content]) => [`${kind} ${name}`, content] as const),
      ),
    );
    return new Map(all.flat());
  }

  async #write(writer: number): Promise<void> {
    while (!this.#over) if (!(await this.#change(writer))) return;
  }

  /** False where the outcome of a call is not known: the writer waits for the comparison. */
  async #change(writer: number): Promise<boolean> {
    const kinds = [...KINDS.keys()];
    const wanted = Math.random() < 0.3 ? 2 + random(3) : 1;
    const calls: CarriedCall[] = [];
    const effects = new Map<string, string | undefined>();
    for (let n = 0; n < wanted; n++) {
      const kind = kinds[random(kinds.length)] ?? 'member';
      const name = String(1 + WRITERS * random(THINGS) + writer);
      const thing = `${kind} ${name}`;
      const before = this.#ledger.get(thing);
      if (effects.has(thing)) continue;
      const after = before !== undefined && Math.random() < 0.3 ? undefined : String(1 + (this.#content++ % 900));
      const call = KINDS.get(kind)?.call(this.node, name, before, after);
      if (call === undefined) continue;
      effects.set(thing, after);
      calls.push(call);
    }
    if (Math.random() < 0.02) return this.#send('save', { method: 'POST', path: '/config/save' }, new Map());
    const [first] = calls;
    if (first !== undefined && calls.length === 1) return this.#send([...effects.keys()].join('').replace(/ .*/, ''), first, effects);
    const body = { calls: calls.map((call) => ({ ...call, path: `/v1${call.path}` })) };
    return this.#send('transaction', { method: 'POST', path: '/transactions', body }, effects);
  }

  async #send(kind: string, { method, path, body }: CarriedCall, effects: ReadonlyMap<string, string | undefined>): Promise<boolean> {
    this.#ledger.begin(effects);
    const response = await this.node.call(method, path, body).catch(() => undefined);
    if (response === undefined || isDoubtful(response)) {
      this.figures.cut++;
      return false;
    }
    if (response.status >= 300) throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${response.body}`);
    this.#ledger.answered(effects);
    this.figures.answered++;
    count(this.figures.kinds, kind);
    return true;
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** True if the change was made shows later. */
const isDoubtful = ({ status }: JsonResponse): boolean => status >= 502;
