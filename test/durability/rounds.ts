/** Rounds of changes that end with a kill at a random moment. After each, the server is started again and everything is compared. */
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Ledger, type Member } from './ledger.js';
import { GROUPS, NoResponse, type Group, type Target } from './target.js';

const WRITERS = 2;
/** Addresses of each writer: few, so that one is soon used again by another member. */
const ADDRESSES = 6;

/** When a round ends. */
const MOMENTS = ['start', 'change', 'change', 'change', 'reload', 'quit'] as const;

export interface Figures {
  rounds: number;
  answered: number;
  /** Calls that were under way when the server was killed. */
  cut: number;
  readonly moments: Record<string, number>;
}

export interface RoundOptions {
  readonly rounds: number;
  /** Milliseconds that a start takes, and that a round takes at most. */
  readonly startTime: number;
  readonly roundTime: number;
  readonly report?: (figures: Figures) => void;
}

export class KillRounds {
  readonly figures: Figures = { rounds: 0, answered: 0, cut: 0, moments: {} };
  readonly #ledgers = new Map<Group, Ledger>(GROUPS.map((group) => [group, new Ledger()]));
  #tags = 0;
  #over = false;

  constructor(
    private readonly target: Target,
    private readonly options: RoundOptions,
  ) {}

  /** @throws Error that says what was lost, with the log of the server */
  async play(): Promise<void> {
    try {
      for (let round = 0; round < this.options.rounds; round++) {
        await this.#round();
        this.figures.rounds++;
        this.options.report?.(this.figures);
      }
      await this.#compare();
      await this.target.kill();
    } catch (error) {
      await this.target.kill();
      throw new Error(`round ${this.figures.rounds + 1}: ${(error as Error).message}\n${this.target.log()}`, { cause: error });
    }
  }

  async #round(): Promise<void> {
    const moment = MOMENTS[Math.floor(Math.random() * MOMENTS.length)] ?? 'change';
    this.figures.moments[moment] = (this.figures.moments[moment] ?? 0) + 1;
    if (Math.random() < 0.2) this.#edit();
    this.#block(Math.random() < 0.3);
    if (moment === 'start') await this.#killAtStart();
    await this.#compare();
    await this.#killAmongChanges(moment);
  }

  async #killAtStart(): Promise<void> {
    const { ready, gone } = this.target.start();
    await Promise.race([sleep(Math.random() * this.options.startTime), gone]);
    void ready;
    await this.target.kill();
  }

  async #killAmongChanges(moment: (typeof MOMENTS)[number]): Promise<void> {
    this.#over = false;
    const writers = Array.from({ length: WRITERS }, (_, writer) => this.#write(writer));
    await sleep(Math.random() * this.options.roundTime);
    if (moment === 'reload') this.target.reload();
    if (moment === 'quit') this.target.quit();
    if (moment === 'reload' || moment === 'quit') await sleep((Math.random() * this.options.roundTime) / 3);
    this.#over = true;
    await this.target.kill();
    await Promise.all(writers);
  }

  async #compare(): Promise<void> {
    const { ready } = this.target.start();
    await ready;
    for (const group of GROUPS) this.#ledger(group).check(await this.target.list(group));
  }

  async #write(writer: number): Promise<void> {
    try {
      while (!this.#over) {
        const group = GROUPS[Math.floor(Math.random() * GROUPS.length)] ?? 'plain';
        await this.#change(writer, group);
        this.figures.answered++;
      }
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      this.figures.cut++;
    }
  }

  async #change(writer: number, group: Group): Promise<void> {
    const ledger = this.#ledger(group);
    const own = ledger.ids().filter((id) => ledger.member(id).tag % WRITERS === writer);
    const id = own[Math.floor(Math.random() * own.length)];
    const free = this.#freeAddress(writer, ledger);
    if (id === undefined || (free !== undefined && Math.random() < 0.3)) {
      if (free !== undefined) await this.#add(group, ledger, this.#member(writer, free));
      return;
    }
    const before = ledger.member(id);
    const kind = Math.random();
    if (kind < 0.2) await this.#remove(group, ledger, id);
    else if (kind < 0.6 && free !== undefined) await this.#replace(group, ledger, id, { ...before, server: free });
    else await this.#replace(group, ledger, id, { ...before, weight: (before.weight % 100) + 1 });
  }

  async #add(group: Group, ledger: Ledger, member: Member): Promise<void> {
    ledger.adding(member);
    ledger.added(await this.target.add(group, member), member);
  }

  async #replace(group: Group, ledger: Ledger, id: number, after: Member): Promise<void> {
    const before = ledger.member(id);
    ledger.changing(id, after);
    await this.target.change(group, id, before, after);
    ledger.changed(id, after);
  }

  async #remove(group: Group, ledger: Ledger, id: number): Promise<void> {
    ledger.changing(id, undefined);
    await this.target.remove(group, id);
    ledger.changed(id, undefined);
  }

  #member(writer: number, server: string): Member {
    const tag = ++this.#tags * WRITERS + writer;
    return { tag, server, weight: 1 };
  }

  #freeAddress(writer: number, ledger: Ledger): string | undefined {
    const all = Array.from({ length: ADDRESSES }, (_, n) => `127.0.0.1:${1000 + 100 * writer + n}`);
    return all.find((server) => !ledger.uses(server));
  }

  /** An operator writes a line into a state file, while the server is down. */
  #edit(): void {
    const ledger = this.#ledger('kept');
    const member = this.#member(0, `127.0.0.2:${1000 + (this.#tags % 60_000)}`);
    appendFileSync(join(this.target.folder, 'kept.state'), `server ${member.server} max_conns=${member.tag};\n`);
    ledger.written(member);
  }

  /** Where the file is written aside there is a folder. */
  #block(blocked: boolean): void {
    const aside = join(this.target.folder, 'stuck.state.new');
    rmSync(aside, { recursive: true, force: true });
    if (blocked) mkdirSync(aside);
  }

  #ledger(group: Group): Ledger {
    return this.#ledgers.get(group) ?? new Ledger();
  }
}
