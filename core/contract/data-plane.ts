import type { ActionContext } from './control.js';

/** The control plane's line to the data plane. */
export abstract class DataPlane {
  /** Calls an action of a data-plane module; 2 s without a reply is ApiError 503 `DataPlaneUnavailable`. */
  abstract call<T>(action: string, params: unknown, context: ActionContext): Promise<T>;
}
