/** Server-sent events by `fetch`, with the token that EventSource cannot send; and errors of the API. Used by the page and by its shared worker. */

export interface ErrorDetail {
  readonly pointer?: string;
  readonly message?: string;
  readonly error?: { readonly text?: string };
}

export class CallError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    text: string,
    readonly details: readonly ErrorDetail[] = [],
  ) {
    super(text);
  }
}

export const UNREACHABLE = new CallError(0, 'Unreachable', 'the control plane cannot be reached');

/** Undefined: it is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function errorOf({ status, statusText }: Response, value: unknown): CallError {
  const { error } = (value ?? {}) as {
    readonly error?: { readonly code: string; readonly text: string; readonly details?: readonly ErrorDetail[] };
  };
  return error === undefined
    ? new CallError(status, 'Error', `${status} ${statusText}`)
    : new CallError(status, error.code, error.text, error.details);
}

export interface StreamEvent {
  readonly data: string;
  /** Empty: it has none. */
  readonly id: string;
}

export interface StreamReader {
  /** There is a stream: the call was admitted. */
  readonly onOpen: () => void;
  readonly onEvent: (event: StreamEvent) => void;
}

export interface StreamOptions extends StreamReader {
  /** Empty: none. */
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Follows a stream until it ends. @throws CallError, or what `fetch` throws */
export async function readStream(url: string, { token, signal, onOpen, onEvent }: StreamOptions): Promise<void> {
  const headers = token === '' ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers, signal, cache: 'no-store' });
  if (!response.ok || response.body === null) throw errorOf(response, jsonOf(await response.text()));
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) readFrame(frame, onEvent);
  }
}

function readFrame(frame: string, onEvent: (event: StreamEvent) => void): void {
  let id = '';
  const data: string[] = [];
  for (const line of frame.split('\n')) {
    if (line.startsWith('data: ')) data.push(line.slice(6));
    else if (line.startsWith('id: ')) id = line.slice(4);
  }
  if (data.length > 0) onEvent({ data: data.join('\n'), id });
}
