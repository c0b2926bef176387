/** The surroundings of a helper process: given to the module that a `helper` line names. */
export abstract class HelperHost {
  /** Absolute path of the helper's configuration. */
  abstract readonly conf: string;
  /** Starts the same core as a control-plane server on {@link conf}; resolves when it listens. */
  abstract serve(): Promise<void>;
  abstract close(): Promise<void>;
}
