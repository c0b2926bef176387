import type { Installation } from '../kernel/installation.js';
import type { Console } from './console.js';
import type { Options } from './options.js';
import type { Paths } from './paths.js';

/** One run of the command. */
export interface ServerCommand {
  readonly options: Options;
  readonly installation: Installation;
  readonly paths: Paths;
  readonly console: Console;
}
