/** The reference of the API as Markdown, from its OpenAPI document. */

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: object;
}

interface Content {
  content?: Record<string, { schema?: object }>;
  description?: string;
}

interface Operation {
  summary: string;
  description: string;
  parameters?: Parameter[];
  requestBody?: Content;
  responses?: Record<string, Content>;
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}

const cell = (text: string | undefined): string => (text ?? '').replaceAll('|', '\\|').replaceAll('\n', ' ');

export function referenceOf(document: object): string {
  const { paths } = document as OpenApi;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      section(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  return `# Reference of the API\n\nEach route with its scope, parameters, body and answers, made from the [OpenAPI document](openapi.json) that a hub serves at \`/openapi.json\`. [The API](api.md) explains them.\n\n${operations.join('\n')}`;
}

function section(
  route: string,
  { summary, description, parameters = [], requestBody, responses = {} }: Operation,
): string {
  const rows = parameters.map(
    (one) =>
      `| \`${one.name}\` | ${one.in} | ${one.required === true ? 'yes' : 'no'} | ${cell(one.description)} |`,
  );
  const table =
    rows.length === 0 ? [] : ['| parameter | in | required | meaning |\n|---|---|---|---|', ...rows, ''];
  const body = schemaOf(requestBody);
  const answers = Object.entries(responses).flatMap(([status, answer]) => {
    const schema = schemaOf(answer);
    const title = `Answer ${status}${answer.description === undefined ? '' : `: ${answer.description}`}`;
    return status.startsWith('2') && schema !== undefined ? [block(title, schema)] : [];
  });
  return [
    `## \`${route}\`\n`,
    `${summary}. ${description}\n`,
    ...table,
    ...(body === undefined ? [] : [block('Body', body)]),
    ...answers,
  ].join('\n');
}

const schemaOf = ({ content }: Content = {}): object | undefined => content?.['application/json']?.schema;

const block = (title: string, schema: object): string =>
  `<details><summary>${title}</summary>\n\n\`\`\`json\n${JSON.stringify(schema, null, 1)}\n\`\`\`\n\n</details>\n`;
