import { ApiError, type ActionContext, type AppliedChange, type Preconditions } from '../contract/control.js';

/** Messages from the control plane to the master. */
export interface CallMessage {
  readonly action: string;
  readonly params: unknown;
  readonly context: Required<Omit<ActionContext, 'extendDeadline' | 'applied'>>;
}

/** And back: one reply, and before it, if it takes longer, for how many milliseconds from now to wait. */
export type ReplyMessage = ({ readonly value: unknown } | { readonly error: ErrorMessage }) & {
  /** Changes of the call to the configuration; an error may follow a change that a worker was too busy for. */
  readonly applied?: AppliedChange;
};
export type ReturnMessage = ReplyMessage | { readonly wait: number };

/** The action with which several are carried out as one change. */
export const TRANSACTION = 'transaction';

export interface TransactionParams {
  readonly calls: readonly (Preconditions & { readonly action: string; readonly params: unknown })[];
}
/** Nothing is active if one of the outcomes is an error, and in a dry run. */
export interface TransactionReply {
  readonly version: number;
  readonly outcomes: readonly ReplyMessage[];
  readonly diff: readonly string[];
}

export interface ErrorMessage {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly details: readonly unknown[];
}

/** How long the control plane waits for a sign of life from the data plane (ms). */
export const CALL_LIMIT = 2000;

/** Id of the message with which a control process checks the connection to the master, and of its reply. */
export const HELLO = 'hello';

/** A {@link CallMessage}. @param params as JSON */
export function encodeCall(action: string, params: string, context: CallMessage['context']): Buffer {
  return Buffer.from(`{"action":${JSON.stringify(action)},"params":${params},"context":${JSON.stringify(context)}}`);
}

export function encode(message: ReturnMessage): Buffer {
  return Buffer.from(JSON.stringify(message));
}

/** Undefined if it is not a message at all: the peer is this program, but the bus is a boundary. */
export function decode(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

export function toMessage(error: ApiError): ErrorMessage {
  return { status: error.status, code: error.code, text: error.message, details: error.details };
}

export function toError({ status, code, text, details }: ErrorMessage): ApiError {
  return new ApiError(status, code, text, details);
}
