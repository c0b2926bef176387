import { optionsOf } from './arguments.js';
import { COMMANDS } from './commands.js';
import type { Command, Operand, Option } from './command.js';
import { usageFailure } from './failure.js';
import { COMMON } from './settings.js';

/** Commands that call nothing. */
export const OWN_COMMANDS: readonly { readonly words: string; readonly operands: string; readonly about: string }[] = [
  { words: 'help', operands: '[COMMAND]', about: 'help for a command' },
  { words: 'completion', operands: 'bash|zsh|fish', about: 'print a completion script for a shell' },
  { words: 'version', operands: '', about: 'print the version' },
];

/** Help for everything, for a group of commands (`members`), or for one. @throws Failure */
export function helpText(words: readonly string[]): string {
  if (words.length === 0) return overview(COMMANDS, true);
  const name = words.join(' ');
  const command = COMMANDS.find((candidate) => candidate.words === name);
  if (command) return commandHelp(command);
  const group = COMMANDS.filter((candidate) => candidate.words.startsWith(`${name} `));
  if (group.length === 0) throw usageFailure(`unknown command "${name}"`);
  return overview(group, false);
}

function overview(commands: readonly Command[], isAll: boolean): string {
  const rows = commands.map((command) => [usageOf(command), command.about] as const);
  const own = isAll ? OWN_COMMANDS.map(({ words, operands, about }) => [`${words} ${operands}`.trim(), about] as const) : [];
  return lines(
    'Usage: srvctl COMMAND [OPTIONS]',
    '',
    'Commands:',
    ...columns([...rows, ...own]),
    '',
    'Options of all commands:',
    ...optionRows(COMMON),
    '',
    '"srvctl help COMMAND" has the other options.',
  );
}

function commandHelp(command: Command): string {
  const { operands = [], options = [], notes = [] } = command;
  const others = optionsOf(command).filter((option) => !options.includes(option));
  return lines(
    `Usage: srvctl ${usageOf(command)} [OPTIONS]`,
    '',
    `${command.about.charAt(0).toUpperCase()}${command.about.slice(1)}.`,
    ...notes,
    ...(operands.length > 0 ? ['', ...columns(operands.map(({ name, about }) => [name, about]))] : []),
    ...(options.length > 0 ? ['', 'Options:', ...optionRows(options)] : []),
    '',
    'Common options:',
    ...optionRows(others),
  );
}

const operandText = ({ name, optional }: Operand): string => (optional ? `[${name}]` : name);

function usageOf({ words, operands = [] }: Command): string {
  return [words, ...operands.map(operandText)].join(' ');
}

function optionRows(options: readonly Option[]): readonly string[] {
  return columns(
    options.map(({ name, letter, value, about }) => [
      `${letter === undefined ? '    ' : `-${letter}, `}--${name}${value === undefined ? '' : ` ${value}`}`,
      about,
    ]),
  );
}

function columns(rows: readonly (readonly [left: string, right: string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function lines(...text: readonly string[]): string {
  return `${text.join('\n')}\n`;
}
