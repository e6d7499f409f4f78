import { type Problem, ProblemError } from '@datahub/client';
import { cutLine, endingMark } from '@datahub/contract/formats';
import { type Command, type Context, isSet, textOf } from '../command.ts';
import { parseExact, writeExact } from '../exact-numbers.ts';
import { CommandError, exitCodes } from '../failure.ts';
import { type Hub, type Received, receive } from '../hub.ts';
import { createProgress, createTable, note } from '../output.ts';
import { parseObject, readAll, readValues } from '../read-input.ts';

const formats = ['json', 'ndjson', 'csv', 'table'] as const;
type Format = (typeof formats)[number];
const mediaTypes: Readonly<Record<Format, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  table: 'application/x-ndjson',
};

export const run: Command = {
  name: 'run',
  arguments: 'QUERY [NAME=VALUE...]',
  summary:
    'Runs a query. QUERY is its id, or HUB/PATH. NAME=TEXT sets a variable to a text, NAME:=JSON to any JSON.',
  options: {
    format: {
      type: 'string',
      value: 'FORMAT',
      choices: formats,
      help: 'table (the default on a terminal), json (the default elsewhere, and with --json), ndjson or csv.',
    },
    values: {
      type: 'string',
      value: 'JSON',
      help: 'All variables as a JSON object; "-" reads it from standard input.',
    },
    'max-rows': { type: 'string', value: 'N', help: 'The most rows.' },
    'all-results': { type: 'boolean', help: 'All results of a procedure, as JSON.' },
    'dry-run': { type: 'boolean', help: 'Roll back what the query writes.' },
  },
  run: async (input, context) => {
    const [query = '', ...words] = input.positionals;
    const given = textOf(input, 'values');
    const maxRows = textOf(input, 'max-rows');
    if (maxRows !== undefined && !/^\d+$/.test(maxRows))
      throw new CommandError('--max-rows must be a number.');
    const values = {
      ...(given === undefined
        ? {}
        : parseObject('--values', given === '-' ? await readAll(context.stdin) : given)),
      ...readValues(words),
    };
    const options = {
      maxRows: maxRows === undefined ? undefined : Number(maxRows),
      dryRun: isSet(input, 'dry-run') || undefined,
      results: isSet(input, 'all-results') ? 'all' : undefined,
      ending: true,
    };
    const body = writeExact({ ...toNames(query), context: values, options });
    const atTerminal = context.stdout.isTTY && !context.json;
    const named = textOf(input, 'format') as Format | undefined;
    if (context.json && named !== undefined && named !== 'json')
      throw new CommandError(`--json and --format ${named} exclude each other.`);
    if (options.results === 'all' && named !== undefined && named !== 'json')
      throw new CommandError(`--all-results and --format ${named} exclude each other.`);
    const format = named ?? (atTerminal && options.results === undefined ? 'table' : 'json');
    await write(await context.hub(), { body, format, context });
  },
};

/** A path of a query does not begin like an id. */
function toNames(query: string): object {
  if (/^[a-z][a-z0-9-]*\.q\.[\w-]+$/.test(query)) return { queryId: query };
  const at = query.indexOf('/');
  if (at <= 0) throw new CommandError(`${query} is neither the id of a query nor HUB/PATH.`);
  return { hubId: query.slice(0, at), path: query.slice(at + 1) };
}

interface Execution {
  body: string;
  format: Format;
  context: Context;
}

async function write(hub: Hub, { body, format, context }: Execution): Promise<void> {
  const response = await receive(hub, { path: 'v1/queries/execute', accept: mediaTypes[format], body });
  warnOfUnknown(context, response);
  const isTable = format === 'table';
  const left = new Set<string>();
  const table = createTable(context.stdout.columns, left);
  const progress = createProgress(context, Date.now);
  const cutNote = isCutAtResult(response.headers) ? moreResults : moreRows;
  let lines = 0;
  let last = '';
  let ending: Ending = {};
  try {
    for await (const text of readText(response, (told) => {
      ending = told;
    })) {
      lines += text.split('\n').length - 1;
      if (isTable) last = writeTable(context, { table, text: last + text, cutNote });
      else if (!context.stdout.write(text)) await context.stdout.drained();
      if (!context.stdout.isTTY && format !== 'json') progress.show(`${lines} rows`);
    }
  } finally {
    progress.end();
  }
  if (isTable && lines === 0) note(context, 'no rows');
  if (left.size > 0) note(context, leftText([...left]));
  // Proxies drop trailers. JSON and NDJSON say it in their bytes.
  if (format === 'csv' && ending.truncated === true)
    note(context, ending.moreResults === true ? moreResults : moreRows);
}

/** What the last line of the body says. */
interface Ending {
  truncated?: boolean;
  moreResults?: boolean;
  problem?: Problem;
}

const namesMax = 10;

/** Documents can have members that those before them lack. */
function leftText(names: string[]): string {
  const more = names.length > namesMax ? ' and others' : '';
  return `Only later rows have ${names.slice(0, namesMax).join(', ')}${more}, so the table lacks them. --format json has all.`;
}

const moreRows = 'There are more rows.';
const moreResults = 'The procedure returned further results. Read them with --all-results.';
const isCutAtResult = (headers: Received['headers']) => headers['x-more-results'] === 'true';

/** The query runs without these values, perhaps with its defaults instead. */
function warnOfUnknown(context: Context, { headers }: Received): void {
  const names = headers['x-datahub-unknown-context'];
  if (typeof names !== 'string') return;
  note(context, `Warning: the query has no variables with these names: ${names.replaceAll(',', ', ')}`);
}

/** Writes the rows of complete lines, and returns the rest. */
function writeTable(
  context: Context,
  { table, text, cutNote }: { table: ReturnType<typeof createTable>; text: string; cutNote: string },
): string {
  const end = text.lastIndexOf('\n');
  if (end === -1) return text;
  const lines = text.slice(0, end).split('\n');
  const isCut = lines.at(-1) === cutLine;
  if (isCut) lines.pop();
  context.stdout.write(table(lines.map((line) => parseExact(line) as Record<string, unknown>)));
  if (isCut) note(context, cutNote);
  return text.slice(end + 1);
}

/** More than an ending has, which contains at most one problem. */
const endingCharactersMax = 65_536;

/** Leaves out the ending. Fails if the rows broke off, so that nobody takes a part for the whole. */
async function* readText(
  { body }: Received,
  onEnding: (ending: Ending) => void,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  /** From the last mark on: the ending, or a character of a row. */
  let kept = '';
  let problem: Problem | undefined;
  try {
    for await (const chunk of body) {
      const text = kept + decoder.decode(chunk, { stream: true });
      const at = text.lastIndexOf(endingMark);
      const end = at === -1 || text.length - at > endingCharactersMax ? text.length : at;
      kept = text.slice(end);
      if (end > 0) yield text.slice(0, end);
    }
    const ending = JSON.parse(kept.slice(endingMark.length)) as Ending;
    ({ problem } = ending);
    onEnding(ending);
  } catch (cause) {
    const text =
      'The answer broke off before its end. The connection to the hub was lost. If the query writes, it may have been carried out.';
    throw new CommandError(text, exitCodes.unknown, { cause });
  }
  if (problem !== undefined)
    throw new ProblemError({ ...problem, detail: `The rows broke off. ${problem.detail}` });
}
