/** Errors of the operating system in the words of `strerror`, which nginx's messages end with. */

const TEXTS: Readonly<Record<string, string>> = {
  EACCES: 'Permission denied',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many levels of symbolic links',
  EMFILE: 'Too many open files',
  ENAMETOOLONG: 'File name too long',
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
  EPERM: 'Operation not permitted',
};

/** `open() "/etc/x" failed (2: No such file or directory)` */
export function systemErrorText(call: string, path: string, error: unknown): string {
  return `${call}() "${path}" failed ${reason(error)}`;
}

function reason(error: unknown): string {
  const { errno, code = '', message } = error as NodeJS.ErrnoException;
  return errno === undefined ? `(${message})` : `(${-errno}: ${TEXTS[code] ?? code})`;
}
