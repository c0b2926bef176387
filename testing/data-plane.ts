/** The line of the control plane to the data plane, for unit tests of routes. */
import { ApiError, type ActionContext } from '../core/contract/control.js';
import { DataPlane } from '../core/contract/data-plane.js';

/** Result of an action: a value, an error that is thrown, or the result of a function of the parameters. */
export type ScriptedReply = (params: unknown, context: ActionContext) => unknown;

/**
 * Replies as the test says, and keeps the calls.
 *
 * ```ts
 * const dataPlane = new FakeDataPlane({ 'acme.drain': () => ({ drained: 2, diff: [] }) });
 * const reply = await new DrainApi(dataPlane).drain(call);
 * assert.deepEqual(dataPlane.calls[0].params, { upstream: 'shop' });
 * ```
 */
export class FakeDataPlane extends DataPlane {
  readonly calls: { readonly action: string; readonly params: unknown; readonly context: ActionContext }[] = [];

  /** @param replies by the name of the action; what a function throws rejects the call */
  constructor(private readonly replies: Readonly<Record<string, ScriptedReply>>) {
    super();
  }

  /** @throws ApiError 501 for an action that the test does not reply to, as where its module is not loaded */
  async call<T>(action: string, params: unknown, context: ActionContext): Promise<T> {
    this.calls.push({ action, params, context });
    const reply = this.replies[action];
    if (reply === undefined) throw new ApiError(501, 'NotLoaded', `no module that serves "${action}" is loaded in the data plane`);
    const value = await reply(params, context);
    // It goes through the control bus as JSON.
    return (value === undefined ? undefined : JSON.parse(JSON.stringify(value))) as T;
  }
}
