import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient, UnreadResponse, SentRequest } from './api-client.js';
import { EXIT, CommandFailure, responseFailure } from './failure.js';
import { printable, valueText, type Row } from './table.js';

/** Until the server says otherwise (`retry:`). */
const RETRY_MS = 1000;

interface Event {
  readonly id?: string;
  readonly type: string;
  readonly time: string;
  readonly data: Row;
}

interface Following {
  /** Events until it ends; undefined: forever. */
  readonly count: number | undefined;
  /** The last event that is known. */
  readonly after: string | undefined;
  /** @param data one line of JSON */
  print(data: string): void;
}

/**
 * Prints events as they come (server-sent events, HTML Living Standard, 9.2). Connects again when the connection is lost, from the event after
 * the last one on.
 * @throws Failure if the first connection fails, or the server rejects the call
 */
export async function followEvents(client: ApiClient, request: SentRequest, following: Following): Promise<void> {
  const state: State = { lastId: following.after, left: following.count ?? Infinity, retryMs: RETRY_MS, connected: false };
  while (state.left > 0) {
    const response = await connected(client, request, state);
    if (response) await readEvents(response, following, state);
    if (state.left > 0) await delay(state.retryMs);
  }
}

interface State {
  lastId: string | undefined;
  left: number;
  retryMs: number;
  /** There has been a connection: the next ones may fail, and are tried again. */
  connected: boolean;
}

async function connected(client: ApiClient, request: SentRequest, state: State): Promise<UnreadResponse | undefined> {
  const headers = { accept: 'text/event-stream', ...(state.lastId !== undefined && { 'last-event-id': state.lastId }) };
  try {
    const response = await client.open({ ...request, headers });
    if (response.status !== 200) throw responseFailure(response.status, await text(response.body));
    state.connected = true;
    return response;
  } catch (error) {
    if (state.connected && error instanceof CommandFailure && error.code === EXIT.unavailable) return undefined;
    throw error;
  }
}

async function readEvents({ body }: UnreadResponse, following: Following, state: State): Promise<void> {
  const reader = new EventReader((field, value) => {
    if (field === 'id') state.lastId = value;
    else if (field === 'retry' && /^\d+$/.test(value)) state.retryMs = Number(value);
    else if (field === 'data' && state.left > 0) {
      following.print(value);
      state.left--;
    }
  });
  body.setEncoding('utf8');
  try {
    for await (const chunk of body) {
      reader.add(chunk as string);
      if (state.left === 0) return;
    }
  } catch {
    // The connection is lost: there will be another one.
  }
}

/** Fields out of the lines of a stream. The server ends lines with LF, and has one `data` line an event. */
class EventReader {
  #rest = '';

  constructor(private readonly onField: (field: string, value: string) => void) {}

  add(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, field = '', value = ''] = /^(\w+): ?([^\r]*)/.exec(line) ?? [];
      if (field !== '') this.onField(field, value);
    }
  }
}

/** An event for people: time, type and facts in one line, the lines of a difference below it. */
export function eventLines(data: string): readonly string[] {
  const { time, type, data: facts } = JSON.parse(data) as Event;
  const { diff, ...others } = facts;
  const words = Object.entries(others).map(([name, value]) => `${name}=${valueText(value)}`);
  const lines = Array.isArray(diff) ? diff.map((line) => `    ${String(line)}`) : [];
  return [[time, type, ...words].join('  '), ...lines].map(printable);
}
