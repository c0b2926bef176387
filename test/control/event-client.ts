/** Programs that follow the events of a server. */
import { spawn } from 'node:child_process';
import { get, type IncomingMessage } from 'node:http';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';

export interface SeenEvent {
  readonly id?: string;
  readonly type: string;
  readonly time: string;
  readonly node: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of server-sent events: keeps what has come. */
export class EventClient {
  text = '';
  ended = false;

  constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (piece: string) => (this.text += piece));
    response.on('close', () => (this.ended = true)).on('error', () => undefined);
  }

  /** Events so far, each as its `data` says. */
  get events(): SeenEvent[] {
    return [...this.text.matchAll(/^data: (.*)\n\n/gm)].map(([, json = '']) => JSON.parse(json) as SeenEvent);
  }

  get lastId(): string {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
  }

  /** The first event of a type whose data has these values, when it has come. */
  event(type: string, data: Readonly<Record<string, unknown>> = {}): Promise<SeenEvent> {
    return waitFor(`event ${type} ${JSON.stringify(data)}`, () =>
      this.events.find((event) => event.type === type && Object.entries(data).every(([name, value]) => event.data[name] === value)),
    );
  }

  close(): void {
    this.response.destroy();
  }
}

/** Resolves when the head of the response is there. @param query with its question mark */
export function followEvents(t: Scope, port: number, query = '', headers: Readonly<Record<string, string>> = {}): Promise<EventClient> {
  return follow(t, port, `/events${query}`, headers);
}

/** As {@link followEvents}, of another stream of the API. */
export async function follow(t: Scope, port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<EventClient> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: `/api/v1${path}`, headers, agent: false }, resolve).on('error', reject);
  });
  const client = new EventClient(response);
  t.teardown(() => client.close());
  return client;
}

/** `mosquitto_sub -v` with the credentials that a server wrote for programs of others: what it prints. */
export function mosquittoSub(
  t: Scope,
  folder: string,
  ...args: readonly string[]
): { stdout: string; stderr: string; readonly code: Promise<number | null> } {
  const child = spawn('mosquitto_sub', ['-v', ...args], { env: { ...process.env, XDG_CONFIG_HOME: folder } });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const seen = { stdout: '', stderr: '', code };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.stderr += text));
  t.teardown(async () => {
    child.kill();
    await code;
  });
  return seen;
}
