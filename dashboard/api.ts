/** Calls of the API: token, errors, dry runs. */
import { CallError, errorOf, jsonOf, UNREACHABLE } from './event-stream.js';

/** URL of the API below this page. */
export const BASE = `${document.querySelector<HTMLMetaElement>('meta[name=srv-api]')?.content ?? '/api'}/v1`;
const TOKEN = 'srv-token';
/** Milliseconds after which a call is given up. */
const CALL_MS = 20_000;

export interface Result<T> {
  readonly body: T;
  /** `after` of the next page. */
  readonly next: string | undefined;
  readonly requestId: string | undefined;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly message?: string;
  readonly signal?: AbortSignal;
}

/** The token is kept by the browser until the tab is closed. */
export function token(): string {
  return sessionStorage.getItem(TOKEN) ?? '';
}

export function setToken(text: string): void {
  if (text === '') sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, text);
}

function headers({ body, message }: CallOptions): Record<string, string> {
  return {
    ...(token() !== '' && { Authorization: `Bearer ${token()}` }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...(message !== undefined && message !== '' && { 'Change-Message': headerText(message) }),
  };
}

/** A field of a request has bytes, of which each is a character for the browser. */
function headerText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text.replaceAll(/\s+/g, ' ').trim()));
}

/** @throws CallError */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<Result<T>> {
  const { body, signal = AbortSignal.timeout(CALL_MS) } = options;
  const response = await fetch(BASE + path, {
    method,
    headers: headers(options),
    signal,
    cache: 'no-store',
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    throw isLate ? new CallError(0, 'Unreachable', 'no response in time') : UNREACHABLE;
  });
  const text = await response.text();
  const value = jsonOf(text);
  if (!response.ok) throw errorOf(response, value);
  const link = /[?&]after=([^&>]*)/.exec(response.headers.get('link') ?? '');
  return {
    body: (value === undefined ? text : value) as T,
    next: link?.[1] === undefined ? undefined : decodeURIComponent(link[1]),
    requestId: response.headers.get('x-request-id') ?? undefined,
  };
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call<T>('GET', path, signal && { signal })).body;
}

/** All pages of a list. `between` runs after each page. */
export async function pages<T>(path: string, limit: number, between: () => Promise<void>): Promise<readonly T[]> {
  const all: T[] = [];
  const joint = path.includes('?') ? '&' : '?';
  let after: string | undefined;
  do {
    const from = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
    const { body, next } = await call<readonly T[]>('GET', `${path}${joint}limit=${limit}${from}`);
    all.push(...body);
    after = next;
    if (after !== undefined) await between();
  } while (after !== undefined);
  return all;
}
