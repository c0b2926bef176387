import { optionsOf } from './arguments.js';
import type { Command, Option } from './command.js';
import { COMMANDS } from './commands.js';
import { usageFailure } from './failure.js';
import { OWN_COMMANDS } from './help.js';

/** A completion script. @throws Failure if there is none for the shell */
export function completionScript(shell: string): string {
  if (shell === 'bash') return bash();
  // zsh has what bash scripts need.
  if (shell === 'zsh')
    return `#compdef srvctl\nautoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n${bash()}`;
  if (shell === 'fish') return fish();
  throw usageFailure(`no completion for "${shell}"`, 'there is one for bash, zsh and fish');
}

const firstOf = (words: string): string => words.split(' ')[0] ?? words;

/** First words, and after those of groups the second words. */
function firstWords(): readonly string[] {
  return [...new Set([...COMMANDS, ...OWN_COMMANDS].map(({ words }) => firstOf(words)))];
}

function secondWords(first: string): readonly (readonly [word: string, about: string])[] {
  return COMMANDS.flatMap(({ words, about }) => {
    const [group, second] = words.split(' ');
    return group === first && second !== undefined ? [[second, about] as const] : [];
  });
}

const SHELLS = ['bash', 'zsh', 'fish'];

const longNames = (options: readonly Option[]): string => options.map(({ name }) => `--${name}`).join(' ');

function bash(): string {
  const groups = firstWords().filter((first) => secondWords(first).length > 0);
  const cases = COMMANDS.map((command) => `    "${command.words}") options="${longNames(optionsOf(command))}" ;;`);
  const files = [...new Set(COMMANDS.flatMap(optionsOf).flatMap(({ name, isFile }) => (isFile ? [`--${name}`] : [])))];
  const fileCommands = COMMANDS.filter(({ operands = [] }) => operands.some(({ isFile }) => isFile)).map(({ words }) => `"${words}"`);
  return `# Completion of srvctl. Written by "srvctl completion".
_srvctl() {
  local word previous command options index first second
  word="\${COMP_WORDS[COMP_CWORD]}"
  previous="\${COMP_WORDS[COMP_CWORD-1]}"
  first="" second="" options=""
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      -*) ;;
      *) if [ -z "$first" ]; then first="\${COMP_WORDS[index]}"; elif [ -z "$second" ]; then second="\${COMP_WORDS[index]}"; fi ;;
    esac
  done
  case "$first" in
    ${groups.join('|')}) command="$first $second" ;;
    *) command="$first" ;;
  esac
  case "$command" in
${cases.join('\n')}
  esac
  case "$previous" in
    ${files.join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [ -z "$first" ]; then COMPREPLY=($(compgen -W "${firstWords().join(' ')}" -- "$word")); return; fi
  if [ -z "$second" ]; then
    case "$first" in
${groups
  .map(
    (group) =>
      `      ${group}) COMPREPLY=($(compgen -W "${secondWords(group)
        .map(([second]) => second)
        .join(' ')}" -- "$word")); return ;;`,
  )
  .join('\n')}
      help) COMPREPLY=($(compgen -W "${firstWords().join(' ')}" -- "$word")); return ;;
      completion) COMPREPLY=($(compgen -W "${SHELLS.join(' ')}" -- "$word")); return ;;
    esac
  fi
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")); return ;;
  esac
  case "$command" in
    ${fileCommands.join('|')}) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _srvctl srvctl
`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** The condition under which fish offers what belongs to a command. */
function fishCondition({ words }: Pick<Command, 'words'>): string {
  return words
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ');
}

function fish(): string {
  const firsts = firstWords().map((first) => {
    const own = [...COMMANDS, ...OWN_COMMANDS].find(({ words }) => words === first);
    return `complete -c srvctl -f -n __fish_use_subcommand -a ${first} -d ${quoted(own?.about ?? `commands for ${first}`)}`;
  });
  const seconds = firstWords().flatMap((first) => {
    const words = secondWords(first);
    const none = `not __fish_seen_subcommand_from ${words.map(([word]) => word).join(' ')}`;
    return words.map(
      ([word, about]) => `complete -c srvctl -f -n '__fish_seen_subcommand_from ${first}; and ${none}' -a ${word} -d ${quoted(about)}`,
    );
  });
  const options = COMMANDS.flatMap((command) =>
    optionsOf(command).map(({ name, letter, value, about, isFile }) => {
      const form = `${letter === undefined ? '' : ` -s ${letter}`} -l ${name}${value === undefined ? '' : ` -r${isFile ? ' -F' : ''}`}`;
      return `complete -c srvctl -n '${fishCondition(command)}'${form} -d ${quoted(about)}`;
    }),
  );
  const files = COMMANDS.filter(({ operands = [] }) => operands.some(({ isFile }) => isFile)).map(
    (command) => `complete -c srvctl -F -n '${fishCondition(command)}'`,
  );
  const shells = `complete -c srvctl -f -n '__fish_seen_subcommand_from completion' -a '${SHELLS.join(' ')}'`;
  return `${['# Completion of srvctl. Written by "srvctl completion".', 'complete -c srvctl -f', ...firsts, ...seconds, ...options, ...files, shells].join('\n')}\n`;
}
