import type { EngineName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ListenOptions } from './listen-options.js';

/** How the servers of a traffic engine say where they listen. Paths of unix sockets may be relative. */
export interface ServerDialect {
  /** Name of the engine's block. */
  readonly engine: EngineName;
  /** Reads an address as calls of the API name it. @throws ArgError */
  address(text: string, path: (relative: string) => string): ListenOptions | undefined;
  /** Where a server listens, by its `listen` lines. @throws ConfigErrors */
  listens(lines: readonly Directive[], path: (relative: string) => string): readonly ListenOptions[];
}
