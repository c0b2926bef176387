import type { InputFile } from '../contract/resource.js';
import { eachCollecting } from './error-collector.js';
import { ConfigError } from './errors.js';

/** A file that a directive names. Its errors are reported at its own lines. */
export function inputFile(path: string, bytes: Buffer): InputFile {
  return {
    path,
    bytes,
    get text() {
      return bytes.toString();
    },
    fail(line, message, hint) {
      throw new ConfigError(message, { file: path, line, column: 1 }, 1, hint);
    },
    each: (items, step) => eachCollecting(items, step),
  };
}
