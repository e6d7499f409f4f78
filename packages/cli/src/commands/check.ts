import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';
import type { Directory } from '../files/directory.ts';
import { type Fault, toLine } from '../files/fault.ts';
import { hubOption, openDirectory } from '../files/open-plan.ts';
import { inParallel } from '../files/parallel.ts';
import type { QueryFile } from '../files/query-file.ts';
import { toFaults } from '../files/rejection.ts';
import type { RemoteHub } from '../files/remote.ts';
import type { Hub } from '../hub.ts';
import { countOf, note, print, printJson } from '../output.ts';

type Found = Fault & { severity: 'error' | 'warning'; code: string };

export const check: Command = {
  name: 'check',
  arguments: 'DIR',
  summary:
    'Describes each query of the files at its source, and reports faults with file, line and column. Changes nothing.',
  options: hubOption,
  completes: 'files',
  run: async (input, context) => {
    const { hub, directory, remote } = await openDirectory(input, context);
    const { found, unchecked } = await checkQueries(hub, { directory, remote });
    if (context.json)
      printJson(context, {
        checked: directory.queries.length - unchecked.length,
        problems: found,
        unchecked,
      });
    else {
      for (const one of found) print(context, `${toLine(one)} (${one.severity}, ${one.code})`);
      const errors = found.filter(({ severity }) => severity === 'error').length;
      const checked = directory.queries.length - unchecked.length;
      print(
        context,
        `${countOf(checked, 'query', 'queries')} checked, ${countOf(errors, 'error', 'errors')}.`,
      );
    }
    if (unchecked.length > 0)
      note(
        context,
        remote === undefined
          ? `The key sees no hub ${directory.hub.model.path}, so no query was checked. Create it with: datahub apply DIR`
          : `The hub does not have the sources of these queries yet, so they were not checked: ${unchecked.join(', ')}`,
      );
    // A pipeline that checks nothing must not pass, such as one whose hub.yaml or key is for another hub.
    if (unchecked.length > 0 && unchecked.length === directory.queries.length) return exitCodes.notFound;
    return found.some(({ severity }) => severity === 'error') ? exitCodes.failed : exitCodes.done;
  },
};

async function checkQueries(
  hub: Hub,
  { directory: { queries }, remote }: { directory: Directory; remote: RemoteHub | undefined },
): Promise<{ found: Found[]; unchecked: string[] }> {
  const sourceIds = new Map(remote?.sources.map(({ label, sourceId }) => [label, sourceId]));
  const found: Found[][] = [];
  const unchecked: string[] = [];
  await inParallel(queries, async (query, i) => {
    const sourceId = sourceIds.get(query.model.source);
    if (sourceId === undefined) unchecked.push(query.file);
    else found[i] = await checkOne(hub, { query, sourceId });
  });
  return { found: found.flat(), unchecked: unchecked.sort() };
}

async function checkOne(
  hub: Hub,
  { query, sourceId }: { query: QueryFile; sourceId: string },
): Promise<Found[]> {
  const { file, model, textLine } = query;
  const { text, command, context, notNull, session, steps } = model;
  const body = { sourceId, query: text, command, context, notNull, session, steps };
  const checked = await hub.call('POST /v1/queries/check', { body }).catch((err) => {
    const faults = toFaults(err, query);
    if (faults.length === 0) throw err;
    return faults.map((fault): Found => ({ ...fault, severity: 'error', code: err.code }));
  });
  if (Array.isArray(checked)) return checked;
  return checked.problems.map(({ severity, code, detail, sql }) => {
    // A problem without a place is about the settings or the whole text. That of a step has its place in the step.
    const at =
      sql?.line === undefined || model.steps !== undefined
        ? { line: textLine, column: 1 }
        : { line: textLine + sql.line - 1, column: sql.column ?? 1 };
    return { file, ...at, severity, code, detail };
  });
}
