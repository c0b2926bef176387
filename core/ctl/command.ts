/** The form of a command of srvctl. The tables in commands/ are all that parsing, help and completion know. */

/** Operands of a command, in this order. */
export interface Operand {
  readonly name: string;
  readonly about: string;
  /** May be left out. Only the last one. */
  readonly optional?: true;
  /** A shell completes names of files. */
  readonly isFile?: true;
}

export interface Option {
  readonly name: string;
  /** A letter that means the same. */
  readonly letter?: string;
  /** Its value, as help shows it. Absent: a flag. */
  readonly value?: string;
  readonly about: string;
  readonly repeated?: true;
  /** A shell completes names of files. */
  readonly isFile?: true;
  /** The field of the request body that it sets. A flag sets it to true, `--flag=false` to false. */
  readonly field?: string;
  /** The query parameter that it sets in the call of any command. */
  readonly parameter?: string;
}

/** A parsed command line. */
export interface Arguments {
  /** @throws Error if the command has no such operand */
  operand(name: string): string;
  /** The value of an option, or of an operand that may be left out. */
  optional(name: string): string | undefined;
  all(name: string): readonly string[];
  flag(name: string): boolean;
  /** The fields that options have set. */
  fields(): Readonly<Record<string, string | boolean>>;
}

/** One call of the API. */
export interface CommandCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base, percent-encoded: `/v1/kv`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  /** Milliseconds that the server takes for it, beyond the time limit of a response. */
  readonly takes?: number;
}

export interface Command {
  /** `members add`. */
  readonly words: string;
  readonly about: string;
  readonly operands?: readonly Operand[];
  readonly options?: readonly Option[];
  /** Changes something: takes `--dry-run` and `--if-match`. */
  readonly writes?: true;
  /** More lines of help. */
  readonly notes?: readonly string[];
  /** @param read text of a file; `-` is the standard input */
  call(args: Arguments, read: (file: string) => string): CommandCall;
  /** The response for people: lines. JSON is parsed. */
  show(response: unknown, args: Arguments): readonly string[];
  /** The response has a difference in `diff`: it is shown in colours. */
  readonly showsDiff?: true;
  /** The response is a stream of events. */
  readonly follows?: true;
  /** Shows figures again and again, by several calls. */
  readonly redraws?: true;
  /** The name of the file that the response is stored in, readable by its owner alone; it must not exist. Instead of {@link show}. */
  readonly file?: (args: Arguments) => string;
  /** The effect of the call, which is confirmed first unless there is `--yes`. */
  readonly confirm?: (args: Arguments) => string;
  /** One event of it for people: lines. Absent: time, type and facts. @param data JSON */
  readonly line?: (data: string) => readonly string[];
}

/** An object without the entries that are undefined. */
export function defined<T>(record: Readonly<Record<string, T | undefined>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter((entry): entry is [string, T] => entry[1] !== undefined));
}

/** A path of which each step may have any character. */
export function pathOf(...steps: readonly string[]): string {
  return steps.map((step) => `/${encodeURIComponent(step)}`).join('');
}

/** Nothing is shown: the change was made. */
export const done = (): readonly string[] => [];
