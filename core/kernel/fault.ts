import { wordHint } from '../config/suggest.js';

/** What is wrong with a module, for whoever wrote it. */
export interface Fault {
  readonly message: string;
  /** What would be right. */
  readonly hint?: string | undefined;
}

/** What is wrong, one after the other. */
export type Faults = Generator<Fault, void, void>;

/** A fault, thrown where the file of the module is not known. */
export class FaultError extends Error implements Fault {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

/** The keys that nobody knows: misspelt ones mostly, whose value would have no effect. */
export function* unknownKeys(what: string, record: object, known: readonly string[]): Faults {
  for (const key of Object.keys(record)) {
    if (!known.includes(key)) yield { message: `unknown ${what} "${key}"`, hint: wordHint(key, known) };
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
