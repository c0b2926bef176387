import type { ArgContext } from '../../contract/spec.js';
import { Compilation, type Compiled, type HttpConfiguration } from './compiler.js';
import { coreDirectives } from './core-module.js';
import type { StaysOutside } from '../../config/scope.js';
import { staysOutsideOf } from '../../config/stays-outside.js';
import type { Product } from './settings.js';
import type { TreeChange } from '../../config/touched-blocks.js';
import { UnitCompiler, type CompiledModule } from './unit-compiler.js';
import type { UnitRecorder } from '../../config/holdings.js';
import type { SharedResolvers } from '../../net/dns/shared-resolvers.js';

/** Turns the `http` block of a tree into servers and locations, for one set of modules. */
export class HttpCompiler {
  readonly #units: UnitCompiler;
  readonly #staysOutside: StaysOutside;

  /** @param explains whether explanations are asked for in this thread */
  constructor(
    modules: readonly CompiledModule[],
    args: ArgContext,
    product: Product,
    recorder: UnitRecorder,
    resolvers: SharedResolvers,
    explains: boolean,
  ) {
    this.#units = new UnitCompiler(modules, args, product, recorder, resolvers, explains);
    this.#staysOutside = staysOutsideOf([coreDirectives, ...modules.map(({ declaration }) => declaration.manifest.directives ?? {})]);
  }

  /**
   * @param again see {@link Compilation}
   * @throws ConfigErrors with everything that is wrong
   */
  compile(change: TreeChange, previous: HttpConfiguration | undefined, again: ReadonlySet<number>): Compiled {
    try {
      return new Compilation(this.#units, this.#staysOutside, change, previous, again).run();
    } finally {
      this.#units.end();
    }
  }

  /** Folders for temporary files of the servers and locations compiled since the last call. */
  takeTemporaryFolders(): ReadonlySet<string> {
    return this.#units.takeTemporaryFolders();
  }
}
