import type { Arguments, Command, Option } from './command.js';
import { usageFailure } from './failure.js';
import { COMMON, WRITING } from './settings.js';

/** The options that a command takes, its own first. */
export function optionsOf(command: Command): readonly Option[] {
  return [...(command.options ?? []), ...(command.writes ? WRITING : []), ...COMMON];
}

/** A parsed command line. */
export interface ParsedCommandLine {
  /** Undefined: none of the commands, `words` says what there is instead. */
  readonly command: Command | undefined;
  /** Words that are not options, with those of the command. */
  readonly words: readonly string[];
  readonly args: ParsedArguments;
}

/** Reads a command line: options in any place, a value as the next argument or after `=`. @throws Failure */
export function parseArguments(argv: readonly string[], commands: readonly Command[]): ParsedCommandLine {
  const words: string[] = [];
  const given: [word: string, value: string | undefined][] = [];
  const known = namesWithValue(commands);
  let isOption = true;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (isOption && word === '--') isOption = false;
    else if (!isOption || !/^-./.test(word)) words.push(word);
    else {
      const [, name = '', value] = /^(--?[^=]+)(?:=([^]*))?$/.exec(word) ?? [];
      if (value === undefined && known.has(name)) {
        const next = argv[++at];
        if (next === undefined) throw usageFailure(`option "${name}" requires a value`);
        given.push([name, next]);
      } else given.push([name || word, value]);
    }
  }
  const command = commandOf(words, commands);
  const args = new ParsedArguments(command, command ? words.slice(command.words.split(' ').length) : []);
  const options = command ? optionsOf(command) : COMMON;
  for (const [name, value] of given) args.set(optionNamed(name, options, command), value);
  return { command, words, args };
}

/** An option has a value in each command that has it, or in none. */
function namesWithValue(commands: readonly Command[]): ReadonlySet<string> {
  const options = [...COMMON, ...WRITING, ...commands.flatMap(({ options = [] }) => options)].filter(({ value }) => value !== undefined);
  return new Set(options.flatMap(({ name, letter }) => [`--${name}`, ...(letter === undefined ? [] : [`-${letter}`])]));
}

/** The command whose words the line begins with: of `cluster` and `cluster wait`, the longer one. */
function commandOf(words: readonly string[], commands: readonly Command[]): Command | undefined {
  const found = commands.filter((command) => command.words.split(' ').every((word, index) => words[index] === word));
  return found.toSorted((a, b) => b.words.length - a.words.length)[0];
}

function optionNamed(word: string, options: readonly Option[], command: Command | undefined): Option {
  const found = options.find(({ name, letter }) => word === `--${name}` || (letter !== undefined && word === `-${letter}`));
  if (found) return found;
  throw usageFailure(`unknown option "${word}"`, command ? `"srvctl help ${command.words}" lists its options` : undefined);
}

/** Values by name. */
export class ParsedArguments implements Arguments {
  readonly #values = new Map<string, string[]>();
  readonly #options = new Map<string, Option>();

  constructor(
    private readonly command: Command | undefined,
    private readonly operands: readonly string[],
  ) {}

  /** @throws Failure */
  set(option: Option, value: string | undefined): void {
    const values = this.#values.get(option.name) ?? [];
    if (values.length > 0 && !option.repeated) throw usageFailure(`option "--${option.name}" is given twice`);
    if (option.value === undefined && value !== undefined && !['true', 'false'].includes(value)) {
      throw usageFailure(`option "--${option.name}" is true or false, not "${value}"`);
    }
    this.#values.set(option.name, [...values, value ?? 'true']);
    this.#options.set(option.name, option);
  }

  /** @throws Failure if an operand is missing, or one too many */
  checkOperands(): void {
    const expected = this.command?.operands ?? [];
    const hint = this.command && `"srvctl help ${this.command.words}" shows how it is used`;
    const missing = expected[this.operands.length];
    if (missing !== undefined && !missing.optional) throw usageFailure(`${missing.name} is missing`, hint);
    const surplus = this.operands[expected.length];
    if (surplus !== undefined) throw usageFailure(`unexpected argument "${surplus}"`, hint);
  }

  operand(name: string): string {
    const value = this.optional(name);
    if (value === undefined) throw new Error(`no operand ${name}`);
    return value;
  }

  optional(name: string): string | undefined {
    const index = this.command?.operands?.findIndex((operand) => operand.name === name) ?? -1;
    return index < 0 ? this.#values.get(name)?.[0] : this.operands[index];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  flag(name: string): boolean {
    return this.optional(name) === 'true';
  }

  fields(): Readonly<Record<string, string | boolean>> {
    const entries = [...this.#options.values()].flatMap(({ name, field, value }) =>
      field === undefined ? [] : [[field, value === undefined ? this.flag(name) : (this.optional(name) ?? '')] as const],
    );
    return Object.fromEntries(entries);
  }

  /** The query parameters that options have set. */
  parameters(): Readonly<Record<string, readonly string[]>> {
    const entries = [...this.#options.values()].flatMap(({ name, parameter, value }) =>
      parameter === undefined ? [] : [[parameter, value === undefined ? (this.flag(name) ? ['1'] : []) : this.all(name)] as const],
    );
    return Object.fromEntries(entries);
  }
}
