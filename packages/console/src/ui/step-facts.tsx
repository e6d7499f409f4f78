/** The steps of a transaction: shown, and changed over the API or in files. */

import type { QueryVersion } from '../api/types.ts';

type Config = Pick<QueryVersion, 'steps' | 'isolation' | 'retry'>;
type Step = NonNullable<Config['steps']>[number];

function wordsOf({ options = {}, references = {} }: Step): string {
  const { expectRows, maxAffected, maxRows } = options;
  return [
    ...(expectRows === undefined ? [] : [`exactly ${expectRows} rows`]),
    ...(maxAffected === undefined ? [] : [`affects at most ${maxAffected} rows`]),
    ...(maxRows === undefined ? [] : [`returns at most ${maxRows} rows`]),
    ...Object.entries(references).map(([name, { from, pointer }]) => `:${name} is ${pointer} of ${from}`),
  ].join(', ');
}

export function StepFacts({ config }: { config: Config | undefined }) {
  const { steps, isolation, retry } = config ?? {};
  if (steps === undefined) return null;
  return (
    <section aria-label="Steps">
      <h2>Steps</h2>
      <table>
        <tbody>
          {steps.map((step, i) => (
            <tr key={step.query}>
              <th scope="row">{step.as ?? i}</th>
              <td>
                <code>{step.query}</code>
              </td>
              <td>{wordsOf(step)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">
        The steps run in one transaction{isolation === undefined ? '' : ` (${isolation})`}, and the last one
        makes the answer.{retry && ' It repeats after serialization failures and deadlocks.'} This console
        does not edit steps: change them in the hub’s files or over the API.
      </p>
    </section>
  );
}
