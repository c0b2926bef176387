import { types } from 'node:util';

/**
 * A thrown value as an Error whose message and stack can be read: a module may throw anything, and a Proxy, or an object with getters that
 * throw, would end whatever looks at it. Errors stay the same objects.
 */
export function errorOf(thrown: unknown): Error {
  if (types.isProxy(thrown)) return withoutStack('a Proxy was thrown');
  try {
    if (!(thrown instanceof Error)) return withoutStack(String(thrown));
    if (typeof thrown.message === 'string' && hasReadableStack(thrown)) return thrown;
  } catch {
    // A value that cannot be inspected is described below.
  }
  return withoutStack('a value was thrown that cannot be shown');
}

/** The getter of V8 is not called: it makes the stack when it is first read, from source maps whose reading holds up a thread. */
function hasReadableStack(error: Error): boolean {
  const own = stackProperty(error);
  if (own?.get !== undefined && own.get === stackProperty(new Error())?.get) return true;
  return error.stack === undefined || typeof error.stack === 'string';
}

function stackProperty(error: Error): { readonly get?: unknown } | undefined {
  return Object.getOwnPropertyDescriptor(error, 'stack');
}

/** Where it was looked at is not where it was thrown. */
function withoutStack(message: string): Error {
  return Object.assign(new Error(message), { stack: message });
}

/** A value thrown by code whose owner the caller does not know. Only its message goes into the log. */
export class NamedFailure extends Error {
  /** @param what has failed: `variable "a" of module "acme_http_x_module"` */
  constructor(what: string, thrown: unknown) {
    super(`${what} failed: ${stackOf(thrown)}`);
  }
}

/** Stack, or message, of what was thrown, for a log. */
export function stackOf(thrown: unknown): string {
  const error = errorOf(thrown);
  try {
    // A module may have replaced what makes the text (`Error.prepareStackTrace`).
    const stack: unknown = error.stack;
    return typeof stack === 'string' ? stack : error.message;
  } catch {
    return error.message;
  }
}
