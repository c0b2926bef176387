import { OptionError } from './options.js';

/** Commands that are words: `srv explain http://a.org/`. */
export const SUBCOMMANDS = ['explain', 'test'] as const;
export type SubcommandName = (typeof SUBCOMMANDS)[number];

/** The command line after one of these words. */
export interface Subcommand {
  readonly name: SubcommandName;
  /** The URL, or the file of tests. */
  readonly subject: string;
  readonly json: boolean;
  readonly prefix: string | undefined;
  readonly conf: string | undefined;
  /** Directives of the main level (`-g`). */
  readonly globals: string | undefined;
  readonly method: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly client: string | undefined;
  readonly listen: string | undefined;
}

type Mutable = { -readonly [K in keyof Subcommand]: Subcommand[K] } & { headers: (readonly [string, string])[] };

interface Option {
  /** Its operands. */
  readonly what: string;
  readonly only?: SubcommandName;
  set(command: Mutable, value: string): void;
}

const OPTIONS: Readonly<Record<string, Option>> = {
  '-p': { what: 'directory name', set: (command, value) => (command.prefix = value) },
  '-c': { what: 'file name', set: (command, value) => (command.conf = value) },
  '-g': { what: 'parameter', set: (command, value) => (command.globals = value) },
  '-X': { what: 'method', only: 'explain', set: (command, value) => (command.method = value) },
  '-H': { what: 'header', only: 'explain', set: (command, value) => command.headers.push(parseHeader(value)) },
  '--client': { what: 'address', set: (command, value) => (command.client = value) },
  '--listen': { what: 'address', set: (command, value) => (command.listen = value) },
};

export function isSubcommand(word: string | undefined): word is SubcommandName {
  return SUBCOMMANDS.some((name) => name === word);
}

/**
 * Reads the words after the command: options in any order, a value as the next argument or after `=`.
 * @throws OptionError
 */
export function parseSubcommand(name: SubcommandName, args: readonly string[]): Subcommand {
  const command: Mutable = {
    name,
    subject: '',
    json: false,
    prefix: undefined,
    conf: undefined,
    globals: undefined,
    method: undefined,
    headers: [],
    client: undefined,
    listen: undefined,
  };
  const words = args.values();
  for (const word of words) {
    if (word === '--json') command.json = true;
    else if (word.startsWith('-')) parseOption(word, words, command);
    else if (command.subject === '') command.subject = word;
    else throw new OptionError(`invalid option: "${word}"`);
  }
  if (command.subject === '')
    throw new OptionError(name === 'explain' ? '"srv explain" requires a URL' : '"srv test" requires a file name');
  return command;
}

function parseOption(word: string, following: Iterator<string, undefined>, command: Mutable): void {
  const [, long = word, joined] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  const option = OPTIONS[long] ?? OPTIONS[word.slice(0, 2)];
  if (option === undefined || (option.only !== undefined && option.only !== command.name))
    throw new OptionError(`invalid option: "${word}"`);
  const value = joined ?? (OPTIONS[long] === undefined ? word.slice(2) : following.next().value);
  if (value === undefined || value === '') throw new OptionError(`option "${long}" requires ${option.what}`);
  option.set(command, value);
}

/** @throws OptionError */
function parseHeader(text: string): readonly [string, string] {
  const colon = text.indexOf(':');
  if (colon <= 0) throw new OptionError(`invalid header "${text}": write it like -H "Accept: text/html"`);
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}
