/** The part “Use it” of a query: the same call as a link, from a shell, a program, a page and an agent. */

import { useState } from 'preact/hooks';
import { addressOf, part } from '../../../api/client.ts';
import type { Query } from '../../../api/types.ts';
import { reads } from '../../../state/commands.ts';
import { may, needs } from '../../../state/permissions.ts';
import { linkTo } from '../../../state/route.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { ownOf } from '../../../state/variables.ts';
import { hubId } from '../../../state/workspace.ts';
import { useAction } from '../../../ui/action.ts';
import { SaveProblem, useChangedForm } from '../../../ui/changed-form.tsx';
import { CopyBlock } from '../../../ui/copy-block.tsx';
import { Field } from '../../../ui/field.tsx';
import { counted } from '../../../ui/format.ts';
import { Icon } from '../../../ui/icons.tsx';
import { notify } from '../../../ui/notice.tsx';
import { Tabs } from '../../../ui/page.tsx';
import { focusFault, VariableInputs } from '../variable-inputs.tsx';
import { type Answer, AnswerView, tryCall } from './answer.tsx';
import { type FormName, formNames, formOf, toolNameOf } from './forms.ts';
import { KeyLine, type MadeKey, MakeKey } from './make-key.tsx';
import { type Call, placeholderFor } from './snippets.ts';

const tabs = formNames.map((name) => [name, name] as const);

/** The key that a form carries: pages have keys of their own. */
type Keys = Partial<Record<'pages' | 'programs', MadeKey>>;

export function UseView({ editor }: { editor: StoredQueryEditor }) {
  const [name, setName] = useState<FormName>('Link');
  const [tried, setTried] = useState(false);
  const [keys, setKeys] = useState<Keys>({});
  const [making, setMaking] = useState(false);
  const [answer, setAnswer] = useState<Answer>();
  const { busy, run } = useAction();
  const query = editor.stored.value;
  if (query === undefined) return null;
  const isForPages = name === 'Web page';
  const made = keys[isForPages ? 'pages' : 'programs'];
  const call = callOf(editor, made);
  const secrets = editor.fields.value
    .filter(({ key, secret }) => secret && ownOf(editor.values.value, key) !== undefined)
    .map(({ key }) => key);
  const form = formOf(name, call, { query, version: editor.version.value?.number, secrets });
  const { request } = form;
  const attempt = async () => {
    setTried(true);
    if (request === undefined || focusFault(editor)) return;
    // A browser key of other origins is refused here, as it should be.
    const isUsable = made !== undefined && (!isForPages || made.origins.includes(location.origin));
    const failed = await run(() => tryCall(request, isUsable ? made.secret : undefined).then(setAnswer));
    if (failed !== undefined) notify(failed.detail ?? 'The call failed.');
  };
  const writes = !reads(query.config.command);
  return (
    <div class="use">
      <div class="use-call">
        {editor.dirty.value && (
          <p class="banner">Your draft is not published. These calls run what is published.</p>
        )}
        {editor.fields.value.length > 0 && (
          <div class="use-values">
            <VariableInputs editor={editor} shown={tried} onEnter={() => void attempt()} />
          </div>
        )}
        <div class="use-forms">
          <Tabs label="Used as" tabs={tabs} value={name} onChange={(next) => setName(next as FormName)} />
          <button
            type="button"
            class="primary"
            onClick={attempt}
            {...needs(writes ? 'queries:execute:write' : 'queries:execute', request === undefined || busy)}
          >
            <Icon name="play" /> {form.isDryRun ? 'Try as a dry run' : 'Try'}
          </button>
        </div>
        <KeyLine made={made} isForPages={isForPages} onMake={() => setMaking(true)} />
        {form.reason !== undefined && <p class="banner">{form.reason}</p>}
        {name === 'Agent' && <ToolForm key={query.config.tool?.name} editor={editor} />}
        {form.text !== undefined && <Code name={name} text={form.text} secrets={secrets} />}
        <p class="hint">{hintOf(name, editor)}</p>
        {!writes && <WatchLink queryId={editor.queryId} />}
        <Facts editor={editor} />
      </div>
      <AnswerView answer={answer} shown={request} />
      {making && (
        <MakeKey
          query={{ queryId: editor.queryId, label: query.meta.label, writes }}
          isForPages={isForPages}
          onMade={(key) => setKeys({ ...keys, [isForPages ? 'pages' : 'programs']: key })}
          onClose={() => setMaking(false)}
        />
      )}
    </div>
  );
}

const WatchLink = ({ queryId }: { queryId: string }) =>
  may('watches:write') ? (
    <p>
      <a href={linkTo('hub', hubId.value ?? '', 'watches', 'new', queryId)}>Tell me when a row is new</a>
    </p>
  ) : null;

/** The text to copy. The file for an agent has no values. */
function Code({ name, text, secrets }: { name: FormName; text: string; secrets: string[] }) {
  const list = secrets.map((key) => `“${placeholderFor(key)}”`).join(' and ');
  return (
    <>
      <CopyBlock key={name} text={text} label={`${name} to copy`} />
      {secrets.length > 0 && name !== 'Agent' && (
        <p class="hint">
          Replace {list}: secret values are not shown. Try sends {secrets.length === 1 ? 'the one' : 'those'}{' '}
          above.
        </p>
      )}
    </>
  );
}

const callOf = (editor: StoredQueryEditor, made: MadeKey | undefined): Call => ({
  url: addressOf(''),
  queryId: editor.queryId,
  label: editor.label.value,
  members: editor.sent.value.members,
  columns: editor.signature.value?.columns ?? [],
  key: made?.secret,
});

function hintOf(name: FormName, editor: StoredQueryEditor) {
  if (name === 'Link')
    return (
      <>
        Send the key in the header <code>x-service-api-key</code>, and <code>accept: text/csv</code> for CSV.
        {editor.stored.value?.meta.path === undefined &&
          ' Give the query a path for a link that people can read.'}
      </>
    );
  if (name === 'TypeScript')
    return (
      <>
        It runs as it is in Node. <code>datahub types {hubId.value} &gt; hub.ts</code> writes the types of all
        queries of the hub.
      </>
    );
  if (name === 'Python') return 'It needs no package.';
  if (name === 'Web page') return 'Save it as index.html on a server of one of the origins of the key.';
  if (name === 'Agent') return 'Most agents read such a file, often as .mcp.json in the folder of a project.';
  return null;
}

/** What a caller may rely on. */
function Facts({ editor }: { editor: StoredQueryEditor }) {
  const columns = editor.signature.value?.columns ?? [];
  const exact = columns.filter(({ jsonType }) => jsonType === 'number|string' || jsonType === 'number');
  const cache = editor.stored.value?.config.cache;
  const version = editor.version.value?.number;
  return (
    <p class="use-facts">
      {exact.length > 0 && (
        <span>
          <b>Exact</b> every digit of{' '}
          {exact.length > 3 ? counted(exact.length, 'column') : exact.map((one) => one.name).join(', ')}
        </span>
      )}
      {cache != null && (
        <span>
          <b>Cached</b> {counted(cache.maxAgeS, 'second')}, then 304 if nothing changed
        </span>
      )}
      {version !== undefined && (
        <span>
          <b>Version {version}</b> until another is published
        </span>
      )}
    </p>
  );
}

interface Tool {
  name: string;
  description: string;
}

const toolNames = {
  isOffered: 'Whether agents have it',
  name: 'Name of the tool',
  description: 'What agents read about it',
};

function ToolForm({ editor }: { editor: StoredQueryEditor }) {
  const stored = editor.stored.value;
  const tool = stored?.config.tool ?? undefined;
  const toolOf = (now: Query['config']['tool']): Tool & { isOffered: boolean } => ({
    isOffered: now != null,
    name: now?.name ?? toolNameOf(stored?.meta.label ?? ''),
    description: now?.description ?? '',
  });
  const changed = useChangedForm<Query, Tool & { isOffered: boolean }>({
    path: `v1/queries/${part(editor.queryId)}`,
    first: toolOf(tool),
    formOf: ({ config }) => toolOf(config.tool),
    names: toolNames,
  });
  const { name, description } = changed.form;
  const { problem, run, forget } = useAction();
  const isSame = name === tool?.name && description === tool?.description;
  const save = (change: Tool | null) =>
    run(async () => {
      await changed.save(() => ({ config: { tool: change } }));
      await editor.load({ adopt: 'never' });
    });
  const loadTheirs = () => {
    changed.takeTheirs();
    forget();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void save({ name: name.trim(), description: description.trim() });
  };
  return (
    <form class="form tool-form" onSubmit={submit}>
      <Field
        label={toolNames.name}
        value={name}
        onInput={(next) => changed.set({ name: next })}
        mono
        required
      />
      <Field
        label={toolNames.description}
        value={description}
        onInput={(next) => changed.set({ description: next })}
        required
        placeholder="Returns the quantity and the amount of each product in a region."
      />
      <div class="actions start">
        <button
          type="submit"
          {...needs('queries:write', isSame || name.trim() === '' || description.trim() === '')}
        >
          {tool === undefined ? 'Offer it to agents' : 'Save'}
        </button>
        {tool !== undefined && (
          <button type="button" class="quiet" onClick={() => void save(null)} {...needs('queries:write')}>
            Hide it from agents
          </button>
        )}
      </div>
      {problem !== undefined && <SaveProblem problem={problem} onTheirs={loadTheirs} />}
    </form>
  );
}
