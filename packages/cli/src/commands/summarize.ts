import { type Command, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { print, printJson } from '../output.ts';
import { readAll } from '../read-input.ts';
import { readUtf8 } from '../read-utf8.ts';

export const summarize: Command = {
  name: 'summarize',
  arguments: '[FILE...]',
  summary: 'Summarizes texts: files, or standard input.',
  options: { sentences: { type: 'string', value: 'N', help: 'The number of sentences.' } },
  completes: 'files',
  run: async (input, context) => {
    const { positionals } = input;
    const given = textOf(input, 'sentences');
    if (given !== undefined && !/^[1-9]\d*$/.test(given))
      throw new CommandError('--sentences must be a number.');
    const texts =
      positionals.length === 0
        ? [await readAll(context.stdin)]
        : await Promise.all(positionals.map(readUtf8));
    const hub = await context.hub();
    const options = given === undefined ? undefined : { sentences: Number(given) };
    const answer = await hub.call('POST /v1/ai/summarize', { body: { context: texts, options } });
    if (context.json) printJson(context, answer);
    else print(context, answer.generated);
  },
};
