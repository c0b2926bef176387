import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Listed, Member } from './ledger.js';
import type { Call } from './master-process.js';
import { GROUPS, NoResponse, type Group, type Target } from './target.js';

const SCRIPT = new URL('master-process.js', import.meta.url).pathname;

/** Only the part of the master that keeps changes, which starts in a moment. */
export class MasterTarget implements Target {
  readonly #calls = new Map<number, { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }>();
  #count = 0;
  #child: ChildProcess | undefined;
  #gone: Promise<unknown> = Promise.resolve();
  #log = '';

  constructor(readonly folder: string) {}

  start(): { ready: Promise<void>; gone: Promise<void> } {
    const [plain, ...kept] = GROUPS;
    const groups = kept.map((name) => `upstream ${name} { zone ${name} 64k; state ${name}.state; }`);
    const config = `http { upstream ${plain} { zone ${plain} 64k; server 127.0.0.9:1; } ${groups.join(' ')} }`;
    const child = spawn(process.execPath, [SCRIPT, this.folder, config], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    this.#log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    child.stdin.on('error', () => undefined);
    const gone = once(child, 'close').then(() => this.#giveUp());
    this.#gone = gone;
    const ready = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => this.#take(line, resolve));
      void gone.then(() => reject(new Error('the master ended before it was ready')));
    });
    ready.catch(() => undefined);
    return { ready, gone };
  }

  async list(group: Group): Promise<Listed[]> {
    const members = (await this.#call({ op: 'list', group })) as { key: number; words: string[] }[];
    return members.filter(({ words }) => words[0] !== '127.0.0.9:1').map(({ key, words }) => listed(key, words));
  }

  async add(group: Group, member: Member): Promise<number> {
    return (await this.#call({ op: 'add', group, text: lineOf(member) })) as number;
  }

  async change(group: Group, id: number, _: Member, after: Member): Promise<void> {
    await this.#call({ op: 'replace', group, key: id, text: lineOf(after) });
  }

  async remove(group: Group, id: number): Promise<void> {
    await this.#call({ op: 'remove', group, key: id });
  }

  reload(): void {
    void this.#call({ op: 'reload', group: '' }).catch(() => undefined);
  }

  quit(): void {
    void this.#call({ op: 'quit', group: '' }).catch(() => undefined);
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#gone;
  }

  log(): string {
    return this.#log;
  }

  #call(what: Omit<Call, 'call'>): Promise<unknown> {
    const call = ++this.#count;
    this.#child?.stdin?.write(`${JSON.stringify({ ...what, call })}\n`);
    return new Promise((resolve, reject) => {
      if (this.#child?.exitCode !== null || this.#child.signalCode !== null) reject(new NoResponse('the master is gone'));
      else this.#calls.set(call, { resolve, reject });
    });
  }

  #take(line: string, ready: () => void): void {
    const message = JSON.parse(line) as { ready?: true; call?: number; value?: unknown; error?: string };
    if (message.ready) {
      ready();
      return;
    }
    const pending = this.#calls.get(message.call ?? -1);
    this.#calls.delete(message.call ?? -1);
    if (message.error === undefined) pending?.resolve(message.value);
    else pending?.reject(/shutting down/.test(message.error) ? new NoResponse(message.error) : new Error(message.error));
  }

  #giveUp(): void {
    for (const { reject } of this.#calls.values()) reject(new NoResponse('the master was killed'));
    this.#calls.clear();
  }
}

const lineOf = ({ server, weight, tag }: Member): string => `server ${server} weight=${weight} max_conns=${tag};`;

function listed(id: number, [server = '', ...words]: readonly string[]): Listed {
  const parameter = (name: string): number | undefined => {
    const word = words.find((text) => text.startsWith(`${name}=`));
    return word === undefined ? undefined : Number(word.slice(name.length + 1));
  };
  return { id, server, weight: parameter('weight') ?? 1, tag: parameter('max_conns') ?? -1 };
}
