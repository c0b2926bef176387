/** Names of the modules that handlers came from: for the log, when a handler fails or waits too long. */
export interface HandlerModules {
  get(handler: unknown): string | undefined;
}

/** Two lists: blocks with a dozen handlers come by the ten thousand, and hardly any of them is ever asked. */
export class HandlerModuleList implements HandlerModules {
  readonly #handlers: unknown[] = [];
  readonly #modules: string[] = [];
  #around: HandlerModules | undefined;

  add(handler: unknown, module: string): void {
    this.#handlers.push(handler);
    this.#modules.push(module);
  }

  get(handler: unknown): string | undefined {
    return this.#modules[this.#handlers.lastIndexOf(handler)] ?? this.#around?.get(handler);
  }

  /** This list, which asks that of the block around it for handlers that it does not have. */
  within(around: HandlerModules): HandlerModules {
    this.#around = around;
    return this;
  }
}
