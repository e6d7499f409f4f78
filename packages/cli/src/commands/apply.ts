import type { Command } from '../command.ts';
import { applyPlan } from '../files/apply.ts';
import type { NewKey } from '../files/keys.ts';
import { openPlan, planOptions } from '../files/open-plan.ts';
import { toJson } from '../files/report.ts';
import { countOf, createProgress, note, print, printJson } from '../output.ts';

export const apply: Command = {
  name: 'apply',
  arguments: 'DIR',
  summary: 'Makes the hub what the files say. If it is interrupted, run it again.',
  options: planOptions,
  completes: 'files',
  run: async (input, context) => {
    const { hub, plan } = await openPlan(input, context);
    const progress = createProgress(context, Date.now);
    let done = 0;
    const keys: NewKey[] = [];
    try {
      await applyPlan({
        ...{ hub, plan },
        onStep: ({ kind, name, action }) => {
          done++;
          progress.show(`${done} of ${plan.steps.length}: ${action} ${kind} ${name}`);
        },
        onKey: (key) => {
          keys.push(key);
          // At once, because a later step can fail.
          if (!context.json) print(context, `${key.name}  ${key.key}  (shown only now)`);
        },
      });
    } catch (err) {
      progress.end();
      if (context.json && keys.length > 0) printJson(context, { keys });
      if (done > 0) note(context, `${done} of ${plan.steps.length} changes are done.`);
      throw err;
    }
    progress.end();
    if (context.json) printJson(context, { ...toJson(plan), ...(keys.length > 0 ? { keys } : {}) });
    else print(context, countOf(done, 'change', 'changes'));
  },
};
