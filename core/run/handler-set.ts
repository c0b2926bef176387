import { errorAt } from '../config/errors.js';
import type { ModuleDeclaration } from '../contract/manifest.js';
import type { Directive } from '../contract/tree.js';
import { HandlerModuleList } from './handler-modules.js';

/** Of a part that a manifest gives no number. */
export const DEFAULT_ORDER = 100;

type Manifest = ModuleDeclaration['manifest'];

/** A handler with the order of its module. */
export interface OrderedHandler<T> {
  readonly order: number;
  /** Place of its module among all. */
  readonly place: number;
  readonly run: T;
}

/** Handlers that a module returns for one block: those of phases, of the content, of the log. */
type Handlers<P extends string, H, L> = { readonly [phase in P]?: H } & { readonly content?: H; readonly log?: L };

/**
 * Collects what modules return for one block and lays it out flat, in the order in which it runs.
 * `P` are the phases, `H` is a handler of a phase, `L` one of the log.
 */
export class HandlerSet<P extends string, H, L> {
  /** Which module each of them came from: for the log. */
  readonly modules = new HandlerModuleList();
  /** By the index of the phase. */
  readonly #phases: (OrderedHandler<H>[] | undefined)[] = [];
  readonly #log: OrderedHandler<L>[] = [];
  #content: { readonly module: string; readonly run: H } | undefined;

  /**
   * @param phases in the order in which they run
   * @param block what has one content: `location`
   */
  constructor(
    private readonly phases: readonly P[],
    private readonly block: 'location' | 'server',
  ) {}

  get content(): H | undefined {
    return this.#content?.run;
  }
  get logHandlers(): L[] {
    return inOrder(this.#log).map(runOf);
  }

  /**
   * Adds what a module returned. In the order of the modules.
   * @param place of the module among all
   * @throws ConfigError when a second module claims the content of the block
   */
  protected collect(manifest: Manifest, handlers: Handlers<P, H, L>, place: number, directive: Directive | undefined): void {
    for (const run of Object.values(handlers)) if (typeof run === 'function') this.modules.add(run, manifest.name);
    for (const [at, phase] of this.phases.entries()) {
      const run = handlers[phase];
      if (run !== undefined) (this.#phases[at] ??= []).push({ order: orderOf(manifest, phase), place, run });
    }
    if (handlers.log) this.#log.push({ order: orderOf(manifest, 'log'), place, run: handlers.log });
    if (handlers.content) this.#claim(manifest.name, handlers.content, directive);
  }

  /** The handlers of a phase in the order of the modules. @param phase its index */
  protected inPhase(phase: number): readonly OrderedHandler<H>[] {
    return this.#phases[phase] ?? [];
  }

  #claim(module: string, run: H, place: Directive | undefined): void {
    const other = this.#content;
    if (other === undefined) {
      this.#content = { module, run };
      return;
    }
    const message = `conflicting content handlers "${other.module}" and "${module}"`;
    if (place === undefined) throw new Error(message);
    throw errorAt(place, message, undefined, `move one of them to another ${this.block}`);
  }
}

/** The number that a manifest gives a part. */
export function orderOf({ phases }: Manifest, part: string): number {
  return (phases as Readonly<Record<string, number | undefined>> | undefined)?.[part] ?? DEFAULT_ORDER;
}

/** By number; with the same one, in the order of the modules. */
export function inOrder<T>(entries: readonly OrderedHandler<T>[]): readonly OrderedHandler<T>[] {
  return entries.length < 2 ? entries : entries.toSorted((a, b) => a.order - b.order);
}

export function runOf<T>({ run }: OrderedHandler<T>): T {
  return run;
}
