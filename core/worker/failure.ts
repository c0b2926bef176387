import { ConfigErrors, configErrorsOf, type ConfigErrorData } from '../config/errors.js';

/** What was thrown in another thread or process, as plain data: mistakes of the configuration, or anything else. */
export type FailureData =
  | { readonly mistakes: readonly ConfigErrorData[] }
  | { readonly message: string; readonly stack: string | undefined };

export function failureData(thrown: unknown): FailureData {
  const errors = configErrorsOf(thrown);
  if (errors) return { mistakes: new ConfigErrors(errors).toData() };
  if (thrown instanceof Error) return { message: thrown.message, stack: thrown.stack };
  return { message: String(thrown), stack: undefined };
}

/** The error again: {@link ConfigErrors} when it was about the configuration. */
export function failureOf(data: FailureData): Error {
  if ('mistakes' in data) return ConfigErrors.fromData(data.mistakes);
  const error = new Error(data.message);
  if (data.stack !== undefined) error.stack = data.stack;
  return error;
}
