/** The texts of `--help`. */

import type { Command, Options } from '../command.ts';
import { exitCodeMeanings, exitCodes } from '../failure.ts';

export const globalOptions: Options = {
  json: { type: 'boolean', help: 'Write the result as JSON.' },
  help: { type: 'boolean', help: 'Show this help.' },
};

export const usageOf = ({ name, arguments: words, options = {} }: Command): string => {
  const all = Object.entries(options).map(([name, option]) =>
    option.isRequired ? toFlag(name, option) : `[${toFlag(name, option)}]`,
  );
  return ['datahub', name, ...(words === undefined ? [] : [words]), ...all].join(' ');
};

export function helpOf(command: Command): string {
  const options = { ...command.options, ...globalOptions };
  const rows = Object.entries(options).map(([name, option]) => [toFlag(name, option), option.help] as const);
  return `usage: ${usageOf(command)}\n\n${command.summary}\n\n${toRows(rows)}`;
}

export const toFlag = (name: string, { type, value = 'TEXT' }: Options[string]): string =>
  type === 'boolean' ? `--${name}` : `--${name} ${value}`;

export function overviewOf(commands: readonly Command[]): string {
  const rows = commands.map(({ name, arguments: words = '', summary }) => [
    `${name} ${words}`.trim(),
    summary,
  ]);
  const codes = Object.entries(exitCodeMeanings).map(([name, meaning]) => [
    String(exitCodes[name as keyof typeof exitCodes]),
    meaning.replaceAll('`', ''),
  ]);
  return `usage: datahub COMMAND

${toRows(rows)}
datahub COMMAND --help describes a command. Each takes --json.

To begin, write the files of a new hub: datahub init DIR

The hub and its key come from DATAHUB_URL and DATAHUB_API_KEY, else from the profile that "datahub login" stores.

exit codes:
${toRows(codes)}`;
}

function toRows(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(([first = '']) => first.length));
  return rows.map(([first = '', second = '']) => `  ${first.padEnd(width)}  ${second}\n`).join('');
}
