import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../api-client.js';
import type { Arguments } from '../command.js';
import { CommandFailure, EXIT, usageFailure } from '../failure.js';
import { readFigures, type TopFigures } from './figures.js';
import { isSort, screenLines, SORTS, type TopSort } from './screen.js';

/** The alternate screen without a cursor, and back. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const LINE_END = '\x1b[K';
const REST = '\x1b[J';
/** Reads use at most this part of the time of the server. */
const SHARE = 8;
/** Without a terminal. */
const WIDTH = 120;
const SORT_KEYS: Readonly<Record<string, TopSort>> = { r: 'requests', e: 'errors', p: 'p99', n: 'name' };
const QUIT = /[qQ\x03\x04]/;

export interface Terminal {
  size(): { readonly columns: number; readonly rows: number };
  /** Calls `onKey` for what is typed. Returns what ends that. */
  keys(onKey: (keys: string) => void): () => void;
}

interface Output {
  readonly color: boolean;
  readonly terminal?: Terminal;
  stdout(text: string): void;
}

/** @throws CommandFailure if the first read fails, or the API no longer accepts the token */
export async function runTop(client: ApiClient, args: Arguments, output: Output): Promise<void> {
  const sort = args.optional('sort') ?? 'requests';
  if (!isSort(sort)) throw usageFailure(`--sort must be ${SORTS.join(', ')}`);
  const seconds = Number(args.optional('interval') ?? 1);
  if (!(seconds >= 0.1 && seconds <= 3600)) throw usageFailure('--interval must be a number of seconds, 0.1 to 3600');
  const figures = await readFigures(client);
  if (args.flag('json')) output.stdout(`${JSON.stringify(figures, undefined, 2)}\n`);
  else if (args.flag('once') || output.terminal === undefined) {
    const columns = output.terminal?.size().columns ?? WIDTH;
    output.stdout(
      screenLines(figures, { sort, columns, rows: Infinity, color: output.color })
        .map((line) => `${line}\n`)
        .join(''),
    );
  } else await new Top(client, output, output.terminal, figures, sort, seconds * 1000).run();
}

/** Screens until `q`. */
class Top {
  readonly #stop = new AbortController();
  #problem = '';

  constructor(
    private readonly client: ApiClient,
    private readonly output: Output,
    private readonly terminal: Terminal,
    private figures: TopFigures,
    private sort: TopSort,
    private readonly everyMs: number,
  ) {}

  async run(): Promise<void> {
    const { signal } = this.#stop;
    const release = this.terminal.keys((keys) => this.#pressed(keys));
    this.output.stdout(ENTER);
    try {
      let took = 0;
      while (!signal.aborted) {
        this.#draw();
        await delay(Math.max(this.everyMs - took, took * (SHARE - 1)), undefined, { signal }).catch(() => undefined);
        if (signal.aborted) break;
        const began = performance.now();
        await this.#read();
        took = performance.now() - began;
      }
    } finally {
      this.output.stdout(LEAVE);
      release();
    }
  }

  async #read(): Promise<void> {
    try {
      this.figures = await readFigures(this.client);
      this.#problem = '';
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.code !== EXIT.unavailable) throw error;
      this.#problem = error.message;
    }
  }

  #pressed(keys: string): void {
    if (QUIT.test(keys)) return this.#stop.abort();
    const sort = SORT_KEYS[keys.slice(-1).toLowerCase()];
    if (sort === undefined) return;
    this.sort = sort;
    this.#draw();
  }

  #draw(): void {
    if (this.#stop.signal.aborted) return;
    const shape = { ...this.terminal.size(), sort: this.sort, color: this.output.color, problem: this.#problem, keys: true };
    const lines = screenLines(this.figures, shape);
    this.output.stdout(HOME + lines.map((line) => line + LINE_END).join('\r\n') + REST);
  }
}
