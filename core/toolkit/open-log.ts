import type { BlockScope } from '../contract/scope.js';
import type { LogFileOptions } from '../contract/log-file-options.js';
import type { LogFile, LogFiles } from '../contract/log-files.js';
import type { ArgContext, Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';

/** True for `syslog:…`. Its unix socket is a file that the argument names. */
export function namesSyslog(text: string, { path }: Pick<ArgContext<never>, 'path'>): boolean {
  const [, socket = ''] = /[:,]server=unix:([^,]*)/.exec(text) ?? [];
  const isSyslog = text.startsWith('syslog:');
  if (isSyslog && socket !== '') path(socket);
  return isSyslog;
}

/** The log that a directive names, open as long as its scope. Rejects the configuration where it cannot be opened. */
export function openLog(
  scope: Pick<BlockScope<Directives, string, never>, 'fail' | 'register' | 'args'>,
  files: LogFiles,
  { name, place, ...options }: LogFileOptions & { readonly name: string; readonly place: string | Directive | undefined },
): LogFile {
  try {
    const log = files.open(name.startsWith('syslog:') ? name : scope.args.path(name), options);
    const ready = log.ready?.catch((error: Error) => scope.fail(error.message, place));
    scope.register({ ...(ready && { ready }), abort: () => log.close(true), release: () => log.close() });
    return log;
  } catch (error) {
    return scope.fail((error as Error).message, place);
  }
}
