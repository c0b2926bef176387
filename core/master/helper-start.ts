/** What a helper process is started with. */
export interface HelperStart {
  readonly kind: 'broker' | 'ctrl';
  /** The module as the `helper` line names it. */
  readonly module: string;
  /** Absolute path of its configuration. */
  readonly conf: string;
  readonly prefix: string;
  /** Error log of a configuration that names none. */
  readonly errorLog: string;
  /** Where address and credentials of the bus lie. */
  readonly bus: string;
}
