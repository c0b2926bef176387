import type { InputFile, Resource } from './resource.js';
import type { ArgContext, Conf, Directives } from './spec.js';
import type { Directive } from './tree.js';

/**
 * One block that a module is asked to compile for, with its typed configuration.
 * `K` are the kinds of blocks that the traffic engine has, `R` is its kind of request.
 */
export interface BlockScope<D extends Directives, K extends string, R> {
  readonly kind: K;
  readonly conf: Conf<D>;
  /** The block itself; undefined only for what the engine makes up. */
  readonly directive: Directive | undefined;
  /** Compiles texts as arguments are compiled, where a directive is not read word by word. A rejected text is an ArgError. */
  readonly args: ArgContext<R>;
  /**
   * Aborted when what is compiled here is not active any more: the location was removed, or compiled again because of a change of what it depends on.
   * Changes of anything else leave it alone. For responses that would go on forever (server-sent events, long polls), which end then. To be
   * read while the scope is compiled.
   */
  readonly signal: AbortSignal;
  /** True if a directive of that name is in this very block (not inherited). */
  own(name: string): boolean;
  /** The directives of that name that apply here: from this very block, else from the innermost block around it that has any. */
  lines(name: string): readonly Directive[];
  /** Rejects the configuration at a directive, or at the one called `place` that is active in this scope (or at the block itself). Throws. */
  fail(message: string, place?: string | Directive, hint?: string): never;
  /** Warns of a valid but probably unintended directive, as {@link fail} rejects one. */
  advise(message: string, place?: string | Directive): void;
  /**
   * The result of `parse` for a file that a directive names. It is read at start and at reload, in all threads with the same bytes; a scope
   * is compiled again when the file has changed. Scopes that ask for the same file with the same function share the value.
   * @param place the directive that names it, for the error
   * @param error makes the message from the reason: `2: No such file or directory`. Without it: `open() "path" failed (reason)`
   */
  file<T>(path: string, parse: (file: InputFile) => T, place?: string | Directive, error?: (reason: string) => string): T;
  /** Announces something that this compilation has opened, see {@link Resource}. */
  register(resource: Resource): void;
  /** Takes a step with each item; what one of them rejects ({@link fail}) does not keep the others from being looked at. Throws it all at the end. */
  each<T, R>(items: Iterable<T>, step: (item: T) => R): R[];
}
