/** NpgsqlRest's `.sql` files, and its functions with annotated comments → queries of a hub. */

import type { QueryModel } from '../files/model.ts';
import { toPath } from '../files/model.ts';
import type { Imported } from './imported.ts';
import { type Annotations, faultOfAssigned, readAnnotations, toDefault } from './npgsqlrest-annotations.ts';
import { readRoutines } from './npgsqlrest-routines.ts';
import { faultOfFilled, readSettings, type Settings } from './npgsqlrest-settings.ts';
import { commandOf, comments, outlineOf } from './outline.ts';
import { type Converted, typeOfCast } from './plain-sql.ts';
import type { ExportFile } from './read-export.ts';
import { type Misfit, TextConversion } from './text-conversion.ts';
import { type Traits, Variables } from './variables.ts';

const source = { label: 'Database', engine: 'postgres' as const };

/** Settings of the product are in `.json` files. */
export function importNpgsqlRest(all: ExportFile[], into: Imported, root: string): void {
  const settings = readSettings(all);
  const files = all.filter(({ name }) => /\.sql$/i.test(name));
  const fetched = fetchedTypes(files);
  if (settings.setsContext)
    into.notes.push({
      file: root,
      detail: 'Statements found claims in settings (UseUserContext). Set session.',
    });
  for (const { name, text } of files) {
    if (/\.test\.sql$/i.test(name)) continue;
    const routines = readRoutines(text);
    if (routines !== undefined) {
      for (const { line, annotations, ...routine } of routines) {
        const found = {
          file: name,
          ...place(annotations, routine.name.replaceAll('"', '').split('.').at(-1) as string),
          folder: [],
          source,
        };
        const query = into.add(found, () => {
          const faults = [
            ...annotations.faults,
            ...routine.faults,
            ...routine.parameters.flatMap((one) => faultsOf(one, { annotations, settings, fetched })),
          ];
          if (faults.length > 0) return faults.map((detail) => ({ line, column: 1, detail }));
          return {
            text: routine.text,
            command: annotations.method === 'GET' ? 'SELECT' : 'CALL',
            context: routine.context,
          };
        });
        annotate(into, query, { file: name, ...annotations });
      }
      continue;
    }
    const annotations = readAnnotations(commentsOf(text));
    const file = name.slice(name.startsWith(root) ? root.length : 0).replace(/^\/|\.sql$/gi, '');
    const query = into.add({ file: name, ...place(annotations, file), folder: [], source }, () =>
      convertFile(text, annotations, settings),
    );
    annotate(into, query, { file: name, ...annotations });
  }
}

/** Composite types whose comment is a request, which NpgsqlRest sends to fill their parameters. */
const fetchedTypes = (files: readonly ExportFile[]): Set<string> =>
  new Set(
    files.flatMap(({ text }) =>
      [
        ...text.matchAll(
          /\bcomment\s+on\s+type\s+([\w.]+)\s+is\s+'[^']*?\b(?:GET|POST|PUT|PATCH|DELETE)\s+\S/gi,
        ),
      ].map(([, type = '']) => plainName(type)),
    ),
  );

const plainName = (type: string): string => type.toLowerCase().replace(/^public\./, '');

interface Circumstances {
  annotations: Annotations;
  settings: Settings;
  fetched: ReadonlySet<string>;
}

/** Why a caller may not choose the value of a parameter. */
function faultsOf(
  { name, type }: { name: string; type: string },
  { annotations, settings, fetched }: Circumstances,
) {
  const isAssigned = annotations.assigned.has(name.toLowerCase());
  const isFetched = fetched.has(plainName(type));
  return [
    faultOfFilled(name, settings),
    isAssigned ? faultOfAssigned : undefined,
    isFetched ? `NpgsqlRest fills ${name} with the answer of a request.` : undefined,
  ].filter((fault) => fault !== undefined);
}

/** What the annotations say beside the text of a query that was converted. */
function annotate(
  into: Imported,
  query: QueryModel | undefined,
  { file, notes, cacheS, tool }: Annotations & { file: string },
): void {
  if (query === undefined) return;
  into.notes.push(...notes.map((detail) => ({ file, detail })));
  if (cacheS !== undefined) query.cache = { maxAgeS: cacheS };
  if (tool !== undefined) query.tool = { description: tool };
}

/** The path of the endpoint without `/api` and without its parameters, else the name of the file or routine. */
function place({ path }: Annotations, name: string): { path: string; label: string } {
  const parts = (path ?? name.replaceAll('_', '-'))
    .replace(/^\/?(?:api\/)?/, '')
    .split('/')
    .filter((part) => part !== '' && !part.startsWith('{'));
  const last = (parts.at(-1) ?? name).replaceAll(/[-_]+/g, ' ');
  return {
    path: parts.map((part) => toPath(part)).join('/') || toPath(name),
    label: last.charAt(0).toUpperCase() + last.slice(1),
  };
}

function commentsOf(text: string): string[] {
  const found = [...text.matchAll(new RegExp(`'(?:[^']|'')*'|(?<comment>${comments.postgres})`, 'g'))];
  return found.flatMap(({ groups }) => groups?.comment?.replace(/^\/\*|\*\/$/g, '').split('\n') ?? []);
}

function convertFile(text: string, annotations: Annotations, settings: Settings): Converted | Misfit[] {
  const { faults, parameters } = annotations;
  const variables = new Variables();
  const names = new Set<string>();
  const conversion = new TextConversion(text, {
    dialect: 'postgres',
    hasBraces: false,
    hasOptionalParts: false,
    placeholders: String.raw`(?<!\w)(?<number>\$\d+\b)|(?<![:\w])(?<colon>:[A-Za-z_]\w*)`,
    fill: ({ name, rest }) => {
      if (name === '%%') return name;
      const known = parameters.get(name) ?? parameters.get(name.slice(1));
      const own = name.startsWith('$') ? `p${name.slice(1)}` : name.slice(1);
      const type = known?.type ?? typeOfCast(rest);
      const fallback = known?.fallback;
      const presence = fallback === undefined ? { required: true } : { value: toDefault(fallback, type) };
      const traits = { ...(type === undefined ? {} : { type }), ...presence } as Traits;
      names.add(known?.name ?? own);
      return variables.use(known?.name ?? own, traits) + (known?.cast === undefined ? '' : `::${known.cast}`);
    },
    absent: () => undefined,
  });
  const converted = conversion.convert().trim();
  const command = commandOf(conversion.words);
  const given = { annotations, settings, fetched: new Set<string>() };
  const ofNames = [...names].flatMap((name) => faultsOf({ name, type: '' }, given));
  for (const detail of faults.length > 0 ? faults : ofNames) conversion.refuse(0, detail);
  if (conversion.words.trim() === '') conversion.refuse(0, 'The file has no statement.');
  else if (
    /^(?:DO|CREATE|COMMENT|ALTER|DROP|BEGIN)$/.test(command) ||
    /\bset_config\b/i.test(outlineOf(text, 'postgres').text)
  )
    conversion.refuse(0, `A statement ${command} is no query.`);
  if (conversion.misfits.length > 0) return conversion.misfits;
  return { text: converted, command, context: variables.context() as QueryModel['context'] };
}
