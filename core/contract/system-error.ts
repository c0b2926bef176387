import { getSystemErrorMap } from 'node:util';

/** Where the C library, and with it nginx, words an error differently from libuv. */
const C_LIBRARY_TEXTS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'Cannot assign requested address',
  EEXIST: 'File exists',
  EHOSTUNREACH: 'No route to host',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many levels of symbolic links',
  ENAMETOOLONG: 'File name too long',
  ENOTCONN: 'Transport endpoint is not connected',
};

/**
 * The number and the text of a system error as nginx writes them: `98: Address already in use`.
 * For an error without a system code it is the error's own message.
 */
export function systemErrorText(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  if (code === undefined || errno === undefined) return message ?? String(error);
  const text = C_LIBRARY_TEXTS[code] ?? capitalised(getSystemErrorMap().get(errno)?.[1] ?? code);
  return `${-errno}: ${text}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
