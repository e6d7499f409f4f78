import type { Command } from '../command.ts';
import { completionOf, type Shell, shells } from '../derived/completion.ts';
import { CommandError } from '../failure.ts';
import { print } from '../output.ts';

export const completion: Command = {
  name: 'completion',
  arguments: 'SHELL',
  summary: 'Prints the completion for bash, zsh or fish: source <(datahub completion bash)',
  completes: shells,
  run: async ({ positionals: [shell = ''] }, context) => {
    if (!shells.includes(shell as Shell))
      throw new CommandError(`SHELL must be one of ${shells.join(', ')}.`);
    print(context, completionOf(shell as Shell, context.commands));
  },
};
