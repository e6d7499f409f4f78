/** Scripts that complete the words of a command in bash, zsh and fish. */

import type { Command, Option } from '../command.ts';
import { globalOptions } from './help.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export function completionOf(shell: Shell, commands: readonly Command[]): string {
  if (shell === 'fish') return fish(commands);
  // zsh runs the functions of bash.
  const prefix = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
  return prefix + bash(commands);
}

const optionsOf = ({ options = {} }: Command): [string, Option][] =>
  Object.entries({ ...options, ...globalOptions });
const firstWord = ({ name }: Command) => name.split(' ')[0] ?? '';
const secondWord = ({ name }: Command) => name.split(' ')[1];

/** The words that may follow the given ones. */
const followers = (commands: readonly Command[], first?: string): string[] =>
  first === undefined
    ? [...new Set(commands.map(firstWord))]
    : commands.filter((one) => firstWord(one) === first).flatMap((one) => secondWord(one) ?? []);

function bash(commands: readonly Command[]): string {
  const groups = [...new Set(commands.filter(secondWord).map(firstWord))];
  const cases = commands.map((command) => {
    const { name, completes } = command;
    const flags = optionsOf(command).map(([option]) => `--${option}`);
    const words = Array.isArray(completes) ? completes.join(' ') : '';
    const files = completes === 'files' ? ' files=1' : '';
    return `    '${name}') flags='${flags.join(' ')}' words='${words}'${files} ;;`;
  });
  const values = commands.flatMap((command) =>
    optionsOf(command).flatMap(([option, { choices }]) =>
      choices === undefined ? [] : [`    '${command.name} --${option}') choices='${choices.join(' ')}' ;;`],
    ),
  );
  return `# Completion of datahub. Load it with: source <(datahub completion bash)
_datahub() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} name=\${COMP_WORDS[1]} at=2
  local flags='' words='' files='' choices=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${followers(commands).join(' ')} --help' -- "$word")); return
  fi
  case $name in
${groups.map((group) => `    ${group}) at=3; words='${followers(commands, group).join(' ')}' ;;`).join('\n')}
  esac
  if [ "$COMP_CWORD" -lt "$at" ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); return; fi
  [ "$at" -eq 3 ] && name="$name \${COMP_WORDS[2]}"
  case "$name $before" in
${values.join('\n')}
  esac
  if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$word")); return; fi
  case $name in
${cases.join('\n')}
  esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word")); return; fi
  if [ -n "$files" ]; then COMPREPLY=($(compgen -f -- "$word")); return; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _datahub datahub
`;
}

const quote = (text: string) => `'${text.replaceAll("'", "\\'")}'`;

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const [first, second] = [firstWord(command), secondWord(command)];
    const isFirst = `not __fish_seen_subcommand_from ${followers(commands).join(' ')}`;
    const isSecond = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${followers(commands, first).join(' ')}`;
    const isThis =
      second === undefined
        ? `__fish_seen_subcommand_from ${first}`
        : `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`;
    const condition = second === undefined ? isFirst : isSecond;
    const { completes } = command;
    return [
      ...(second === undefined ? [] : [`complete -c datahub -n '${isFirst}' -a ${first}`]),
      `complete -c datahub -n '${condition}' -a ${second ?? first} -d ${quote(command.summary)}`,
      ...optionsOf(command).map(([option, { type, choices, help }]) => {
        const value = type === 'boolean' ? '' : choices === undefined ? ' -r' : ` -xa '${choices.join(' ')}'`;
        return `complete -c datahub -n '${isThis}' -l ${option}${value} -d ${quote(help)}`;
      }),
      ...(completes === 'files' ? [`complete -c datahub -n '${isThis}' -F`] : []),
      ...(Array.isArray(completes) ? [`complete -c datahub -n '${isThis}' -a '${completes.join(' ')}'`] : []),
    ];
  });
  return `# Completion of datahub. Load it with: datahub completion fish | source
complete -c datahub -f
${[...new Set(lines)].join('\n')}
`;
}
