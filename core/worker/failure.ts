import { ConfigErrors, configErrorsOf, type ConfigErrorData } from '../config/errors.js';
import { errorOf, stackOf } from '../contract/thrown.js';

/** An exception of another thread or process, as plain data: errors of the configuration, or anything else. */
export type FailureData =
  | { readonly errors: readonly ConfigErrorData[] }
  | { readonly message: string; readonly stack: string | undefined };

export function failureData(thrown: unknown): FailureData {
  const error = errorOf(thrown);
  const errors = configErrorsOf(error);
  if (errors) return { errors: new ConfigErrors(errors).toData() };
  return { message: error.message, stack: thrown === error ? stackOf(error) : undefined };
}

/** The error again: {@link ConfigErrors} when it was about the configuration. */
export function failureOf(data: FailureData): Error {
  if ('errors' in data) return ConfigErrors.fromData(data.errors);
  const error = new Error(data.message);
  if (data.stack !== undefined) error.stack = data.stack;
  return error;
}
