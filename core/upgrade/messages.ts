/**
 * Messages between a server and the program that replaces it, a line of JSON each, over a unix socket in the data folder. The two may be
 * of different versions: the messages change with {@link PROTOCOL} only.
 */
import type { ControlListener } from '../net/control-listeners.js';
import type { InheritedSocket } from './inherited-socket.js';

/** A program with another one is rejected: the server goes on as it is. */
export const PROTOCOL = 1;

/** State of one form (see CarriedState). */
export interface StatePart {
  readonly form: string;
  readonly data: unknown;
}

/** Start data of the new program. */
export interface WelcomeData {
  /** In base64. */
  readonly secret: string;
  readonly sockets: readonly InheritedSocket[];
  /** Where the control plane listens. */
  readonly control: readonly ControlListener[];
}

/** Said by the new program. */
export type FromSuccessor =
  | { readonly kind: 'hello'; readonly protocol: number; readonly version: string; readonly pid: number }
  /** For the caller of the upgrade: why it fails. */
  | { readonly kind: 'say'; readonly text: string }
  /** Modules and configuration are in order. It needs the data folder now, and the state. */
  | { readonly kind: 'checked' }
  /** It is about to open its sockets: what has changed of the state? */
  | { readonly kind: 'update' }
  /** It serves. */
  | { readonly kind: 'serving' };

/** Said by the server that is replaced. */
export type FromPredecessor =
  | { readonly kind: 'welcome'; readonly protocol: number; readonly data: WelcomeData }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The data folder is free at the first one. They go on while it finishes its requests. */
  | { readonly kind: 'state'; readonly parts: readonly StatePart[] }
  /** Its helpers have ended. */
  | { readonly kind: 'left' };
