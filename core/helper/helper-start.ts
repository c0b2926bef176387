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

/** What the master tells a helper. The end of the channel tells it to end. */
export type ToHelper =
  | { readonly kind: 'start'; readonly start: HelperStart }
  | { readonly kind: 'reload' }
  | { readonly kind: 'reopen' }
  /** Respond at once, whatever else there is to do. */
  | { readonly kind: 'ping' };

export type FromHelper =
  /** It does its work, and listens there. */
  | { readonly kind: 'ready'; readonly addresses: readonly string[] }
  /** It cannot do its work, and ends. */
  | { readonly kind: 'refused'; readonly reasons: readonly string[] }
  | { readonly kind: 'pong' };
