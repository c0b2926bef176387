import type { ActionContext, Reply } from '../contract/control.js';
import type { DataPlane } from '../contract/data-plane.js';
import { readReply, writeReply, type Versioned } from '../contract/versioned.js';

/** Routes that each call an action of the data plane. */
export abstract class ActionRoutes {
  constructor(
    private readonly dataPlane: DataPlane,
    /** Beginning of the names of the actions. */
    private readonly actions: string,
  ) {}

  protected async read(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return readReply(await this.#call(action, params, call));
  }

  protected async write(action: string, params: unknown, call: ActionContext): Promise<Reply> {
    return writeReply(call, await this.#call(action, params, call));
  }

  #call(action: string, params: unknown, call: ActionContext): Promise<Versioned> {
    return this.dataPlane.call<Versioned>(`${this.actions}.${action}`, params, call);
  }
}
