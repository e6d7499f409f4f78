/** Reads plans of PostgreSQL, MySQL and MariaDB as one tree of steps. */

export interface PlanStep {
  name: string;
  detail: string;
  /** The table that it reads. */
  table?: string | undefined;
  /** The time of this step without the steps below it; undefined if it was not measured. */
  ownMs?: number | undefined;
  /** Rows over all repetitions. */
  estimated?: number | undefined;
  actual?: number | undefined;
  children: PlanStep[];
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** A number with all its digits may be an object of the page's JSON. */
const numberOf = (value: unknown): number | undefined => {
  const number =
    typeof value === 'number' ? value : Number((value as { rawJSON?: string })?.rawJSON ?? Number.NaN);
  return Number.isNaN(number) ? undefined : number;
};
const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''));
const joined = (...texts: string[]): string => texts.filter((text) => text !== '').join(' · ');

/** Undefined for a plan of an unknown form. */
export function readPlan(plan: unknown): PlanStep | undefined {
  if (Array.isArray(plan) && isObject(plan[0]) && isObject(plan[0].Plan)) return postgresStep(plan[0].Plan);
  if (!isObject(plan)) return undefined;
  if (isObject(plan.query_plan)) return mysqlStep(plan.query_plan);
  const steps = blockSteps(plan);
  return steps.length === 1
    ? steps[0]
    : steps.length === 0
      ? undefined
      : { name: 'Query', detail: '', children: steps };
}

function postgresStep(node: Json): PlanStep {
  const children = (Array.isArray(node.Plans) ? node.Plans : []).filter(isObject);
  const loops = numberOf(node['Actual Loops']) ?? 1;
  const total = postgresMs(node);
  const below = children.reduce((sum, child) => sum + (postgresMs(child) ?? 0), 0);
  const table = node['Relation Name'] === undefined ? undefined : textOf(node['Relation Name']);
  const conditions = ['Index Cond', 'Hash Cond', 'Merge Cond', 'Join Filter', 'Recheck Cond', 'Filter'];
  const removed = numberOf(node['Rows Removed by Filter']);
  const estimated = numberOf(node['Plan Rows']);
  const actual = numberOf(node['Actual Rows']);
  return {
    name: `${textOf(node['Node Type'])}${table === undefined ? '' : ` on ${table}`}`,
    detail: joined(
      node['Index Name'] === undefined ? '' : `index ${textOf(node['Index Name'])}`,
      textOf(node['Group Key'] ?? node['Sort Key']),
      ...conditions.map((name) => textOf(node[name])),
      removed === undefined || removed === 0 ? '' : `${removed * loops} rows left out`,
    ),
    table,
    ownMs: total === undefined ? undefined : Math.max(0, total - below),
    estimated: estimated === undefined ? undefined : estimated * (actual === undefined ? 1 : loops),
    actual: actual === undefined ? undefined : actual * loops,
    children: children.map(postgresStep),
  };
}

function postgresMs(node: Json): number | undefined {
  const perLoop = numberOf(node['Actual Total Time']);
  return perLoop === undefined ? undefined : perLoop * (numberOf(node['Actual Loops']) ?? 1);
}

function mysqlStep(node: Json): PlanStep {
  const children = (Array.isArray(node.inputs) ? node.inputs : []).filter(isObject);
  return {
    name: textOf(node.operation),
    detail: textOf(node.index_name === undefined ? '' : `index ${textOf(node.index_name)}`),
    table: node.table_name === undefined ? undefined : textOf(node.table_name),
    estimated: numberOf(node.estimated_rows),
    children: children.map(mysqlStep),
  };
}

/** Members of MariaDB's plans, and of MySQL's older form, that are steps. */
const blockNames: Record<string, string> = {
  filesort: 'Sort',
  ordering_operation: 'Sort',
  grouping_operation: 'Group',
  duplicates_removal: 'Remove duplicates',
  temporary_table: 'Temporary table',
  materialized: 'Materialize',
  materialized_from_subquery: 'Materialize',
  union_result: 'Union',
  window_functions_computation: 'Window functions',
};

function blockSteps(value: unknown): PlanStep[] {
  if (Array.isArray(value)) return value.flatMap(blockSteps);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]): PlanStep[] => {
    if (!isObject(member)) return blockSteps(member);
    if (member.table_name !== undefined) return [tableStep(member)];
    const name = blockNames[key];
    if (name === undefined) return blockSteps(member);
    const ownMs = key === 'filesort' ? numberOf(member.r_total_time_ms) : undefined;
    return [{ name, detail: textOf(member.sort_key), ownMs, children: blockSteps(member) }];
  });
}

const accesses: Record<string, string> = {
  ALL: 'Read the table',
  index: 'Read the index of',
  range: 'Read a range of',
  ref: 'Look up',
  eq_ref: 'Look up',
  const: 'Look up',
};

function tableStep(node: Json): PlanStep {
  const table = textOf(node.table_name);
  const loops = numberOf(node.r_loops) ?? 1;
  const [inTable, other] = [numberOf(node.r_table_time_ms), numberOf(node.r_other_time_ms)];
  const estimated = numberOf(node.rows ?? node.rows_examined_per_scan);
  const actual = numberOf(node.r_rows);
  return {
    name: `${accesses[textOf(node.access_type)] ?? textOf(node.access_type)} ${table}`,
    detail: joined(
      node.key === undefined ? '' : `index ${textOf(node.key)}`,
      textOf(node.attached_condition),
    ),
    table,
    ownMs: inTable === undefined ? undefined : inTable + (other ?? 0),
    estimated: estimated === undefined ? undefined : estimated * (actual === undefined ? 1 : loops),
    actual: actual === undefined ? undefined : actual * loops,
    children: blockSteps(
      Object.fromEntries(Object.entries(node).filter(([, member]) => typeof member === 'object')),
    ),
  };
}

/** All steps with their depth, in the order in which they are shown. */
export function* stepsOf(step: PlanStep, depth = 0): Generator<{ step: PlanStep; depth: number }> {
  yield { step, depth };
  for (const child of step.children) yield* stepsOf(child, depth + 1);
}

/** How many times more or fewer rows a step met than the database expected; undefined if nearly as many. */
export function misjudged({ estimated, actual }: PlanStep): { times: number; more: boolean } | undefined {
  if (estimated === undefined || actual === undefined) return undefined;
  const [expected, met] = [Math.max(1, estimated), Math.max(1, actual)];
  const times = Math.max(expected / met, met / expected);
  return times < 10 ? undefined : { times: Math.round(times), more: met > expected };
}

/** The command that renews what the database knows of a table of a statement, which MariaDB's plan names by its alias. */
export function analyzeOf(table: string, { text, engine }: { text: string; engine: string }): string {
  if (engine === 'postgres')
    return `ANALYZE ${/^[a-z_][a-z0-9_]*$/.test(table) ? table : `"${table.replaceAll('"', '""')}"`};`;
  const alias = table.replaceAll(/[^\w]/g, String.raw`\$&`);
  const named = new RegExp(
    String.raw`(?:from|join|update|,)\s+([\w.\x60$]+)\s+(?:as\s+)?\x60?${alias}\x60?(?![\w$.])`,
    'i',
  ).exec(text);
  return `ANALYZE TABLE ${named?.[1] ?? (/^\w+$/.test(table) ? table : `\`${table.replaceAll('`', '``')}\``)};`;
}
