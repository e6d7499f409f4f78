import type { Routes } from '@datahub/client';
import type { Command } from '../command.ts';
import { CommandError } from '../failure.ts';
import { findClassifierId } from '../hub.ts';
import { printJson, printRows } from '../output.ts';
import { readAll } from '../read-input.ts';

/** The most texts of one call. */
const textsMax = 1_000;

type Predictions = Extract<
  Routes['POST /v1/classifiers/{classifierId}/predict']['answer'],
  { predictions: unknown }
>['predictions'];

export const predict: Command = {
  name: 'predict',
  arguments: 'CLASSIFIER [TEXT...]',
  summary:
    'Predicts the labels of texts: arguments, or the lines of standard input. CLASSIFIER is an id or a name.',
  run: async ({ positionals: [classifier = '', ...given] }, context) => {
    const texts =
      given.length > 0
        ? given
        : (await readAll(context.stdin)).split(/\r?\n/).filter((line) => /\S/.test(line));
    if (texts.length === 0) throw new CommandError('There is no text.');
    const hub = await context.hub();
    const classifierId = await findClassifierId(hub, classifier);
    const predictions: Predictions = [];
    for (let at = 0; at < texts.length; at += textsMax) {
      const contexts = texts.slice(at, at + textsMax);
      const answer = await hub.call('POST /v1/classifiers/{classifierId}/predict', {
        path: { classifierId },
        body: { contexts },
      });
      if (!('predictions' in answer)) throw new CommandError('The answer of the hub has no predictions.');
      predictions.push(...answer.predictions);
    }
    if (context.json) printJson(context, predictions);
    else
      printRows(
        context,
        predictions.map(({ label, confidence }, i) => ({ label, confidence, text: texts[i] })),
      );
  },
};
