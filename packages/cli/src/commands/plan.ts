import { type Command, isSet, textOf } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { openPlan, planOptions } from '../files/open-plan.ts';
import { addEffects } from '../files/plan.ts';
import { isBreaking, toJson, toLines, toMarkdown } from '../files/report.ts';
import { print, printJson } from '../output.ts';

export const plan: Command = {
  name: 'plan',
  arguments: 'DIR',
  summary: 'Shows what apply would change: texts, contracts, and the callers of the last 30 days.',
  options: {
    ...planOptions,
    'fail-on': {
      type: 'string',
      value: 'WHICH',
      choices: ['changes', 'breaking', 'never'],
      help: 'Which changes fail: changes (the default: 2, or 3 if one breaks callers), breaking (3) or never.',
    },
    markdown: { type: 'boolean', help: 'Write Markdown, for a comment on a pull request.' },
  },
  completes: 'files',
  run: async (input, context) => {
    const { hub, plan } = await openPlan(input, context);
    await addEffects(hub, plan);
    if (context.json) printJson(context, toJson(plan));
    else if (isSet(input, 'markdown')) print(context, toMarkdown(plan));
    else
      for (const { text, colour } of toLines(plan)) {
        context.stdout.write(text, colour);
        context.stdout.write('\n');
      }
    const failOn = textOf(input, 'fail-on') ?? 'changes';
    if (failOn !== 'never' && plan.steps.some(isBreaking)) return exitCodes.breaking;
    return failOn === 'changes' && plan.steps.length > 0 ? exitCodes.changes : exitCodes.done;
  },
};
