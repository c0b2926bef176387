/** A real browser, Debian's chromium without a window, by the DevTools protocol over a pipe. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { findProgram } from './programs.js';
import type { Scope } from './scope.js';
import { tempFolder } from './temp.js';
import { waitFor } from './wait.js';

const SWITCHES = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-extensions',
  '--disable-background-networking',
];
/** Milliseconds that a page may take on a busy machine. */
const PAGE_MS = 30_000;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

export class Browser {
  #last = 0;
  #unread = '';
  readonly #replies = new Map<number, (message: Message) => void>();
  readonly #pages = new Map<string, Page>();
  readonly #input: Writable;

  private constructor(child: ChildProcess) {
    this.#input = child.stdio[3] as Writable;
    this.#input.on('error', () => undefined);
    (child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => this.#read(text));
  }

  static async start(t: Scope): Promise<Browser> {
    const folder = tempFolder(t);
    const switches = [...SWITCHES, '--remote-debugging-pipe', `--user-data-dir=${folder}`, 'about:blank'];
    const child = spawn(findProgram('chromium')!, switches, {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder },
      detached: true,
    });
    const exited = new Promise((resolve) => child.once('close', resolve));
    t.teardown(async () => {
      // Its processes have a group of their own.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      await exited;
    });
    return new Browser(child);
  }

  /** A page in a window of its own: without cookies and connections of others, or with those of the page beside it. */
  async page(beside?: Page): Promise<Page> {
    const { context = (await this.send('Target.createBrowserContext', {}))['browserContextId'] } = beside ?? {};
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId: context, newWindow: true });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId as string, context);
    this.#pages.set(sessionId as string, page);
    for (const domain of ['Page', 'Runtime', 'Log']) await page.send(`${domain}.enable`);
    return page;
  }

  send(method: string, params: object, sessionId?: string): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#replies.set(id, ({ result = {}, error }) => {
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
      this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  #read(text: string): void {
    const messages = (this.#unread + text).split('\0');
    this.#unread = messages.pop() ?? '';
    for (const message of messages.map((one) => JSON.parse(one) as Message)) {
      if (message.id === undefined) this.#pages.get(message.sessionId ?? '')?.happened(message.method ?? '', message.params ?? {});
      else this.#replies.get(message.id)?.(message);
    }
  }
}

export class Page {
  /** Errors of scripts, and of what the page may not load. */
  readonly errors: string[] = [];

  constructor(
    private readonly browser: Browser,
    private readonly session: string,
    readonly context: unknown,
  ) {}

  send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.browser.send(method, params, this.session);
  }

  happened(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === 'Runtime.exceptionThrown') this.errors.push(JSON.stringify(params));
    const entry = params['entry'] as { level: string; source: string; text: string } | undefined;
    // A status is the server's, not the page's.
    if (method === 'Log.entryAdded' && entry?.level === 'error' && entry.source !== 'network') this.errors.push(entry.text);
  }

  async open(url: string): Promise<void> {
    await this.send('Page.navigate', { url });
  }

  /** The value of an expression in the page. Also where scripts of pages do not run. */
  async value(expression: string): Promise<unknown> {
    const { result } = await this.send('Runtime.evaluate', { expression, returnByValue: true });
    return (result as { value?: unknown } | undefined)?.value;
  }

  /** Waits until an expression in the page is true. */
  async until(expression: string): Promise<void> {
    try {
      await waitFor(`${expression} in the page`, async () => (await this.value(expression).catch(() => false)) === true, PAGE_MS);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${String(await this.text())}`, { cause: error });
    }
  }

  text(): Promise<unknown> {
    return this.value('document.body.innerText');
  }

  /** Presses a key: `Tab`, `Enter`. */
  async press(key: 'Tab' | 'Enter'): Promise<void> {
    const code = key === 'Tab' ? 9 : 13;
    const event = { key, code: key, windowsVirtualKeyCode: code, ...(key === 'Enter' && { text: '\r' }) };
    await this.send('Input.dispatchKeyEvent', { type: key === 'Enter' ? 'keyDown' : 'rawKeyDown', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  async type(text: string): Promise<void> {
    await this.send('Input.insertText', { text });
  }

  /** Presses Tab until the element with that id has the focus. */
  async tabTo(id: string): Promise<void> {
    for (let presses = 0; presses < 30; presses++) {
      if ((await this.value('document.activeElement.id')) === id) return;
      await this.press('Tab');
    }
    throw new Error(`Tab does not lead to #${id}`);
  }
}
