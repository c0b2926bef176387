/** How a run ends. docs/srvctl.md has the table. */
export const EXIT = {
  done: 0,
  /** The API rejected the call. */
  rejected: 1,
  /** The command line is wrong, or a file that it names. */
  usage: 2,
  /** The target of the call does not exist. */
  missing: 3,
  /** It exists already, has changed meanwhile, or is in use. */
  conflict: 4,
  /** A token is missing, invalid, or has no scope for the call. */
  denied: 5,
  /** No connection, or no response in time, or an error of the server. */
  unavailable: 6,
  /** `--exit-code`: there is a difference. */
  different: 7,
} as const;

/** The end of a run that did not succeed. */
export class CommandFailure extends Error {
  /** @param lines printed below the message */
  constructor(
    readonly code: number,
    message: string,
    readonly lines: readonly string[] = [],
  ) {
    super(message);
  }
}

/** A command line that is not understood. */
export function usageFailure(message: string, hint = '"srvctl help" lists the commands'): CommandFailure {
  return new CommandFailure(EXIT.usage, message, [hint]);
}

const BY_STATUS: Readonly<Record<number, number>> = {
  401: EXIT.denied,
  403: EXIT.denied,
  404: EXIT.missing,
  409: EXIT.conflict,
  412: EXIT.conflict,
};

interface ErrorBody {
  readonly error?: { readonly status: number; readonly code: string; readonly text: string; readonly details?: readonly unknown[] };
  readonly request_id?: string;
}

/** Message of an error response of the API, or of another program. @param body as it came */
export function responseFailure(status: number, body: string): CommandFailure {
  const code = BY_STATUS[status] ?? (status >= 500 ? EXIT.unavailable : EXIT.rejected);
  const { error, request_id: requestId } = parsed(body);
  if (error === undefined)
    return new CommandFailure(code, `the server responded with ${status}`, body === '' ? [] : [body.slice(0, 500).trimEnd()]);
  // One error is in the text already.
  const details = (error.details ?? []).map(detailText).filter((text) => text !== error.text);
  return new CommandFailure(code, `${error.text} (${error.code}, ${status})`, [
    ...details.map((text) => `  ${text}`),
    ...(requestId ? [`request id: ${requestId}`] : []),
  ]);
}

function parsed(body: string): ErrorBody {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

interface Detail {
  readonly pointer?: string;
  readonly message?: string;
  /** Of a call of a transaction. */
  readonly index?: number;
  readonly method?: string;
  readonly path?: string;
  readonly error?: { readonly text: string; readonly code: string };
}

function detailText(detail: unknown): string {
  const { pointer, message, index, method, path, error } = (typeof detail === 'object' && detail !== null ? detail : {}) as Detail;
  if (pointer !== undefined && message !== undefined) return `${pointer}: ${message}`;
  if (index !== undefined && error !== undefined) return `call ${index}, ${method} ${path}: ${error.text} (${error.code})`;
  return message ?? JSON.stringify(detail);
}
