/** Words of `-s`, each with its signal to the running server. */
export const SIGNALS = {
  stop: 'SIGTERM',
  quit: 'SIGQUIT',
  reload: 'SIGHUP',
  reopen: 'SIGUSR1',
  upgrade: 'SIGUSR2',
} as const satisfies Record<string, NodeJS.Signals>;
export type SignalName = keyof typeof SIGNALS;

/** The command line. */
export interface Options {
  readonly help: boolean;
  readonly version: boolean;
  /** `-V`: the version and how it was built. */
  readonly build: boolean;
  /** `-t`, and by implication `-T`. */
  readonly test: boolean;
  readonly dump: boolean;
  readonly quiet: boolean;
  readonly signal: SignalName | undefined;
  readonly prefix: string | undefined;
  readonly conf: string | undefined;
  readonly errorLog: string | undefined;
  /** Directives of the main level (`-g`). */
  readonly globals: string | undefined;
}

/** A command line that is not understood. The message is nginx's. */
export class OptionError extends Error {}

type Mutable = { -readonly [K in keyof Options]: Options[K] };

const FLAGS: Readonly<Record<string, (options: Mutable) => void>> = {
  '?': (options) => showHelp(options),
  h: (options) => showHelp(options),
  v: (options) => (options.version = true),
  V: (options) => (options.version = options.build = true),
  t: (options) => (options.test = true),
  T: (options) => (options.test = options.dump = true),
  q: (options) => (options.quiet = true),
};

const VALUES: Readonly<Record<string, { what: string; set: (options: Mutable, value: string) => void }>> = {
  p: { what: 'directory name', set: (options, value) => (options.prefix = value) },
  e: { what: 'file name', set: (options, value) => (options.errorLog = value) },
  c: { what: 'file name', set: (options, value) => (options.conf = value) },
  g: { what: 'parameter', set: (options, value) => (options.globals = value) },
  s: { what: 'parameter', set: (options, value) => (options.signal = signalName(value)) },
};

/**
 * Reads the command line as nginx does: letters may be joined (`-tq`), a value may follow its letter at once (`-p/srv`) or as the next
 * argument.
 * @throws OptionError
 */
export function parseOptions(args: readonly string[]): Options {
  const options: Mutable = {
    help: false,
    version: false,
    build: false,
    test: false,
    dump: false,
    quiet: false,
    signal: undefined,
    prefix: undefined,
    conf: undefined,
    errorLog: undefined,
    globals: undefined,
  };
  const words = args.values();
  for (const word of words) {
    if (!word.startsWith('-')) throw new OptionError(`invalid option: "${word}"`);
    parseWord(word, words, options);
  }
  return options;
}

function parseWord(word: string, following: Iterator<string, undefined>, options: Mutable): void {
  for (let at = 1; at < word.length; at++) {
    const letter = word.charAt(at);
    const flag = FLAGS[letter];
    if (flag) {
      flag(options);
      continue;
    }
    const value = VALUES[letter];
    if (!value) throw new OptionError(`invalid option: "${letter}"`);
    const text = word.slice(at + 1) || following.next().value;
    if (!text) throw new OptionError(`option "-${letter}" requires ${value.what}`);
    return value.set(options, text);
  }
}

function showHelp(options: Mutable): void {
  options.version = options.help = true;
}

function signalName(text: string): SignalName {
  if (!Object.hasOwn(SIGNALS, text)) throw new OptionError(`invalid option: "-s ${text}"`);
  return text as SignalName;
}
