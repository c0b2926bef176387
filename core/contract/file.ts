/** Files that directives name and modules read. */
import { argType } from './arg-type.js';
import type { InputFile } from './resource.js';
import type { ArgType } from './spec.js';
import type { Directive } from './tree.js';

/** Reader of files: a scope. */
interface FileReader {
  file<T>(path: string, parse: (file: InputFile) => T, place?: string | Directive, error?: (reason: string) => string): T;
}

/** A file that a directive names. */
export interface ConfFile<T> {
  readonly path: string;
  /**
   * Content of the file for the configuration that is being compiled: the same bytes in all threads, read again at a reload, and only
   * then parsed again when they have changed.
   * @param place the directive that names it, for errors
   * @param error makes the message from the reason of the system
   */
  in(scope: FileReader, place?: string | Directive, error?: (reason: string) => string): T;
}

/**
 * A file that belongs to the configuration, as a certificate or a list of keys: relative paths are under the folder of the configuration file.
 * @param parse makes a value of the file, once for all scopes that have it
 */
export function file<T>(parse: (file: InputFile) => T, form = 'file'): ArgType<ConfFile<T>, string> {
  return argType({
    kind: 'path',
    form,
    parse: (text, context) => {
      const path = context.path(text, 'conf');
      return { path, in: (scope, place, error) => scope.file(path, parse, place, error) };
    },
    print: ({ path }) => path,
  });
}
