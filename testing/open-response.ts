import { request, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AskOptions } from './ask.js';

const TIMEOUT_MS = 30_000;

/** A response whose body is still on its way: server-sent events, a slow download. */
export interface OpenResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Its body so far. */
  readonly text: string;
  /** Its body was complete, or the server has cut it off. */
  readonly ended: 'no' | 'complete' | 'cut off';
  /** Resolves with the match when what has come has `pattern`. @throws Error after 30 seconds, or when the response has ended without it */
  receive(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves when it has ended. @throws Error after 30 seconds */
  end(): Promise<'complete' | 'cut off'>;
  /** The client leaves. */
  close(): void;
}

/** Sends a request; resolves with the head of the response. @throws Error when there is none within 30 seconds */
export function openResponse(port: number, path: string, { method = 'GET', headers, body }: AskOptions): Promise<OpenResponse> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
    const timer = setTimeout(() => sent.destroy(new Error(`no response to ${method} ${path} within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    sent.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.once('response', (incoming) => {
      clearTimeout(timer);
      const response = { text: '', ended: 'no' as OpenResponse['ended'] };
      // `ended` reports a client that leaves, or is left.
      incoming.on('error', () => undefined);
      incoming.setEncoding('utf8').on('data', (piece: string) => (response.text += piece));
      incoming.once('close', () => (response.ended = incoming.complete ? 'complete' : 'cut off'));
      const until = async <T>(what: string, probe: () => T | undefined): Promise<T> => {
        for (const end = Date.now() + TIMEOUT_MS; ;) {
          const found = probe();
          if (found !== undefined) return found;
          if (Date.now() > end) throw new Error(`waited ${TIMEOUT_MS / 1000} s in vain for ${what}, received: ${response.text}`);
          await sleep(5);
        }
      };
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        get text() {
          return response.text;
        },
        get ended() {
          return response.ended;
        },
        receive: (pattern) =>
          until(String(pattern), () => {
            const match = pattern.exec(response.text) ?? undefined;
            if (match === undefined && response.ended !== 'no')
              throw new Error(`the response ended without ${String(pattern)}: ${response.text}`);
            return match;
          }),
        end: () => until('the end of the response', () => (response.ended === 'no' ? undefined : response.ended)),
        close: () => void incoming.destroy(),
      });
    });
    sent.end(body);
  });
}
