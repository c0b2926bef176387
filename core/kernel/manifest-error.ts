import { wordHint } from '../contract/suggest.js';

/** Something wrong with what a module declares, for its author. The module's file is added where it is known. */
export class ManifestError extends Error {
  /** @param hint what to write instead */
  constructor(
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** Errors in the order of the manifest. */
export type ManifestErrors = Generator<ManifestError, void, void>;

/** Reports keys that have no meaning: mostly misspelt ones, whose value would have no effect. */
export function* unknownKeys(what: string, record: object, known: readonly string[]): ManifestErrors {
  for (const key of Object.keys(record)) {
    if (!known.includes(key)) yield new ManifestError(`unknown ${what} "${key}"`, wordHint(key, known));
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
