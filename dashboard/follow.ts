/** Streams of the API in a page: over the shared worker, where the browser has such workers. */
import { BASE, token } from './api.js';
import { CallError, readStream, UNREACHABLE, type StreamReader } from './event-stream.js';
import { STREAMS_NAME, type ToPage, type ToWorker } from './stream-messages.js';

export interface FollowOptions extends StreamReader {
  readonly signal: AbortSignal;
  /** Last events that a page gets which follows the same stream later. */
  readonly kept: number;
  /** Id of the last event that is known; undefined: the stream has no ids. */
  readonly after?: string;
}

/** Follows a stream until it ends. @param path of the API @throws CallError */
export async function follow(path: string, options: FollowOptions): Promise<void> {
  const url = new URL(BASE + path, location.href).href;
  if (port !== undefined) return followShared(port, url, options);
  const { after } = options;
  const whole = after === undefined ? url : `${url}?last_event_id=${encodeURIComponent(after)}`;
  await readStream(whole, { ...options, token: token() }).catch((error: unknown) => {
    throw error instanceof CallError ? error : UNREACHABLE;
  });
}

type Receive = (message: ToPage) => void;

/** What this page follows over the worker. */
const receivers = new Map<number, Receive>();
const port = connect();

function followShared(to: MessagePort, url: string, { signal, kept, after, onOpen, onEvent }: FollowOptions): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const number = nextNumber();
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      receivers.delete(number);
      post(to, { leave: number });
      resolve();
    };
    receivers.set(number, (message) => {
      if ('isOpen' in message) return onOpen();
      if ('events' in message) return message.events.forEach(onEvent);
      receivers.delete(number);
      signal.removeEventListener('abort', leave);
      if (message.end === undefined) resolve();
      else reject(new CallError(message.end.status, message.end.code, message.end.text, message.end.details));
    });
    signal.addEventListener('abort', leave, { once: true });
    post(to, { number, url, token: token(), kept, after });
  });
}

function nextNumber(): number {
  return Math.max(0, ...receivers.keys()) + 1;
}

function post(to: MessagePort, message: ToWorker): void {
  to.postMessage(message);
}

interface ScriptPolicies {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(input: string): string };
}

/** The only URL of a script that this page makes, which its Content-Security-Policy names. */
function workerUrl(): string {
  const { href } = new URL('streams.js', document.baseURI);
  const { trustedTypes } = globalThis as { readonly trustedTypes?: ScriptPolicies };
  return trustedTypes === undefined ? href : trustedTypes.createPolicy('srv-streams', { createScriptURL: () => href }).createScriptURL('');
}

function connect(): MessagePort | undefined {
  if (typeof SharedWorker === 'undefined') return undefined;
  const worker = new SharedWorker(workerUrl(), { name: STREAMS_NAME });
  worker.port.addEventListener('message', ({ data }: MessageEvent<ToPage>) => receivers.get(data.number)?.(data));
  worker.port.start();
  addEventListener('pagehide', () => {
    post(worker.port, 'bye');
    // The browser may keep the page, and show it again.
    for (const [number, receive] of receivers) receive({ number, end: undefined });
  });
  return worker.port;
}
